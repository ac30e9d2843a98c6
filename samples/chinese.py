"""A small grammar of Chinese sentences with 它, 他, 她: the same idea as grammar.py, measured apart from it."""

# ruff: noqa: RUF001

from __future__ import annotations

import random
from collections.abc import Iterator

from grammar import Entity, Reference, Sentence, reserved_pair

NOUNS = {
    "man": "男孩 国王 爸爸 爷爷 哥哥 弟弟 叔叔 王子 小明 先生 男人 儿子",
    "woman": "女孩 女王 妈妈 奶奶 姐姐 妹妹 阿姨 公主 小红 太太 女人 女儿",
    "animal": "动物 小狗 猫 马 牛 羊 猪 老虎 狮子 大象 猴子 兔子 熊 狼 狐狸 老鼠 鸡 鸭子 鸟 鱼 乌龟 蛇 熊猫 鹿 驴",
    "way": "马路 街道 大桥 小路 公路 桥 路 隧道 街 山路",
    "water": "河 小河 湖 大海 池塘 江",
    "food": "蛋糕 苹果 面包 鱼肉 饼 米饭 面条 香蕉 饺子 汤",
    "thing": "箱子 石头 桌子 椅子 书包 盒子 木头 行李 沙发 钢琴",
    "place": "房子 山洞 学校 商店 医院 图书馆 公园 教室",
    "text": "书 小说 电影 故事 信 课文",
}
ADJECTIVES = {
    "man woman animal": "累 饿 渴 困 害怕 生气 高兴 懒 疲惫 紧张 勇敢 伤心 虚弱 疲倦 兴奋 着急 难过 胆小",
    "man woman": "忙 穷 聪明 骄傲 粗心",
    "way": "宽 窄 滑 拥挤 危险 泥泞",
    "water": "深 宽 冷 危险 脏",
    "food": "好吃 甜 咸 烫 新鲜 难吃",
    "thing": "重 旧 贵 破",
    "place": "黑 远 吵 安静 脏",
    "text": "有趣 无聊 长 难懂 感人",
}
PEOPLE, ANIMATE = ("man", "woman"), ("man", "woman", "animal")
VERBS = {
    "way": (ANIMATE, "过 走过 穿过 走"),
    "water": (ANIMATE, "过 游过 渡过"),
    "food": (ANIMATE, "吃 闻 碰 买"),
    "thing": (ANIMATE, "搬 推 拉 碰 动 抬"),
    "place": (ANIMATE, "进 离开 找到 去"),
    "text": (PEOPLE, "看 读 买 写 听"),
}
NEGATIVES = "没有 没有 没 不想 不敢 不能 不肯 不愿意"
DEGREES = "太 太 太 很 非常 特别 真 十分 有点"
TIMES = "今天 昨天 后来 早上 晚上 那天 最后"


def adjectives(kind: str, rival: str) -> list[str]:
    fits = {a for kinds, text in ADJECTIVES.items() if kind in kinds.split() for a in text.split()}
    return sorted(fits - {a for kinds, text in ADJECTIVES.items() if rival in kinds.split() for a in text.split()})


def compose(r: random.Random) -> Sentence:
    s = Sentence(pattern="chinese")
    kind_b = r.choice(list(VERBS))
    kinds_a, verbs = VERBS[kind_b]
    kind_a = r.choice((*kinds_a, "animal", "animal") if "animal" in kinds_a else kinds_a)
    word_a, word_b = r.choice(NOUNS[kind_a].split()), r.choice(NOUNS[kind_b].split())
    a = Entity((word_a,), frozenset({kind_a}), False, gender={"man": "m", "woman": "f"}.get(kind_a))
    b = Entity((word_b,), frozenset({kind_b}), False)
    pronoun = {"man": "他", "woman": "她", "animal": "它"}[kind_a]
    of_a = r.random() < 0.5
    who, said = (a, pronoun) if of_a else (b, "它")
    adjective = r.choice(adjectives(kind_a, kind_b) if of_a else adjectives(kind_b, kind_a))
    if reserved_pair(who.nouns[0], adjective):
        s.features.add("pairs")
    verb, degree = r.choice(verbs.split()), r.choice(DEGREES.split())

    def noun(e: Entity) -> None:
        if r.random() < 0.4:
            s.add(r.choice(("那只", "这只", "一只") if "animal" in e.kinds else ("那个", "这个", "一个")))
        e.heads = (s.add(e.nouns[0]),)
        s.entities.append(e)

    def refer() -> Reference:
        s.references.append(Reference(s.add(said), who.heads))
        return s.references[-1]

    def state() -> int:
        s.add(degree)
        at = s.add(adjective)
        if degree == "太" or r.random() < 0.2:
            s.add("了")
        return at

    if r.random() < 0.2:
        s.add(r.choice(TIMES.split()))
    affirmed = r.random() < 0.3
    does = f"{verb} 了" if affirmed else f"{r.choice(NEGATIVES.split())} {verb}"
    order = r.random()
    if order < 0.6:
        noun(a)
        s.add(does)
        noun(b)
        s.add(r.choice(("， 因为", "， 因为", "， 是因为", "， 但是", "。", "， 当时", "，")))
        ref = refer()
        ref.decider = state()
    elif order < 0.75:
        s.add(r.choice(("因为", "由于")))
        if of_a:
            ref = refer()
            ref.decider = state()
            s.add("，")
            noun(a)
            ref.targets = a.heads
            s.add(does)
            noun(b)
        else:
            noun(b)
            state()
            s.add("， 所以")
            noun(a)
            s.add(does)
            refer().decider = len(s.words) - 1
    else:
        noun(who)
        state()
        s.add(r.choice(("， 所以", "， 但是", "，")))
        if of_a:
            ref = refer()
            s.add(does)
            ref.decider = len(s.words) - 1
            noun(b)
        else:
            noun(a)
            s.add(does)
            refer().decider = len(s.words) - 1
    s.add("。")
    return s


def generate(seed: int, count: int, split: str = "train") -> Iterator[Sentence]:
    """`count` sentences; `train` has none of the noun-adjective pairs that make up `pairs`."""
    r = random.Random(f"chinese {seed}")
    made = 0
    while made < count:
        s = compose(r)
        if (split == "pairs") == ("pairs" in s.features):
            made += 1
            yield s


def vocabulary() -> list[str]:
    """Every word of these sentences, sorted."""
    lists = [*NOUNS.values(), *ADJECTIVES.values(), *(verbs for _, verbs in VERBS.values()), NEGATIVES, DEGREES, TIMES]
    found = {word for text in lists for word in text.split()}
    return sorted(found | {w for s in generate(0, 500) for w in s.words if w.isalpha()})
