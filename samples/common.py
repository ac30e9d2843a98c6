"""Words and characters that the tokenizer keeps whole although the grammar does not use them."""

# ruff: noqa: RUF001

from __future__ import annotations

ENGLISH = """able above accord account across act action add address age ago air almost already although always
    am among amount animals anyone anything appear arm around ask attention attend away base based begin
    believe below best better between beyond body bring business came case cause center central century
    certain chance change chapter choose clear close code cold come common community company compare
    complete condition consider contain context control cost course cover create current data deal death
    decide deep degree depend describe detail develop difference different direct does dot during each
    earth east easy economic education effect effort eight either else embed embedding end energy enough
    equal error even event ever everyone everything evidence example except expect experience face fact
    family feel field figure file final find first five focus food force foreign form formula found four
    free friend full function future general given global good got government great ground group grow
    growth half happen has head health heart hello help high hold home hope hour human hundred idea
    image include increase industry information input instead interest international internet issue
    itself job just keep key kind knowledge language large law layer learn learning least left less let
    letter level life light like line list little live local long look lot love low machine main make
    making mean means memory method middle might million mind minute model modern moment money month
    more most much music name nation national natural nature near necessary network neural next news
    nine north note number off office often oil old open order output own page paper part past pay peace
    people perhaps period person place plus point policy political position possible power present price
    problem process product program project property provide public python query question random range
    rate rather read real reason recent record relation research result right road rule said same sample
    say science score second section see self sense sentence service set seven shall share short side
    sign similar since single six size social society softmax software some sort sound source south
    space special speech stage standard state step still stop strong structure study such support sure
    system table taken ten term text thank thanks thing think third thousand through thus time token
    total toward trade transformer true turn type understand unit university until upon use used user
    usual value various vector version view voice war way week weight weights well west whole whose
    within without word words work world worth write wrong year years yes zero attends matrix tokens
    layers heads keys values rows column columns show shows computer papers art car going comes goes
    gone knows known says sees seen tell tells told passed passes saved saves fleeing flees cheered
    cheering put puts makes made doing done""".split()

PUNCTUATION = "，。？！、；：“”‘’（）《》…—"

CHINESE = """
的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里
用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实
日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政
美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员
解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件
计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象
完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笔视城食害
华拿另早阳线单火车病究流离服府近语请曾技研连亲深集育选团越往随改党夫响影息约支收言根愿尽紧石价造首示
查准周江风房失满青英够句居跟脸朋须落足热具助半找轮照持备兵钱快断始终谈友图微音护客联八九六七百千夜呢
吗吧啊哪每血推底仍叫黑远块续轻围孩倒突差低装存怕站李红木极故般怎冷古兴养妈爸父母爱久族史喜办双际整绝
苦户置乐土未易志型称段亚黄企亮罗坐送待武男令况错士哥州局依停否香读歌脚群京苏晚钟顾包纪细杀坚充若片帮
承洋引哈福刻演器济忙球精某静层派密追除采验试吃背洲顶曲独仅晓环胜怪刘树油秘诉抓参标责罪吸奇修春草沉烟
严班止破毛升床奥船街秋夏雪雨冬店楼岁米岛虽份宫舞换烈闻秀杂吉凡乡模评灵怀雷洞纸迷异野预呼穿画陈值负左
右云林河湖沙谷森鱼鸟狗猫牛羊猪鸡鸭虎狼熊兔鼠猴鹿蛇龙狮蜜蜂虫蛙鹅鹰宽窄累饿渴困睡醒胖瘦硬软脏净湿干旧
坏贵宜短厚薄粗浅甜酸辣咸鲜臭烫凉暖聪笨懒勤勇敢胆羞孤伤怒愤厌倦疲惫慌惊吓忧愁哭笑喊唱跳跑飞游爬逃躲藏
抱抬搬扔丢捡买卖借喝煮烤炒洗擦扫补折叠盖拆挖埋浇剪摘咬踢撞摔碎裂桥巷墙窗桌椅柜箱盒袋瓶杯碗盘盆刀叉勺
锅灯伞帽衣裤裙鞋袜袍戒链镜钥匙锁绳棍棒锤斧锯玩汽艇箭卡巴校铺馆厅庙塔堡殿园农厂仓库医诊剧餐厨卧浴室警
察授律匠商贩猎渔翁爷奶叔姨舅伯姐妹弟兄婆妻妇孙侄皇帝骑巫婴童姑娘伙伴邻诗编辑冠敌雄蛋贼偷骗赢输赛奖牌
证票封邮寄递消网络脑频键屏幕序码算注习训练测矩阵词篇章字符号翻译汉典释例答案考卷课堂级凳板粉橡皮尺角
圆状弧弯斜竖横倾侧端末尾央旁附绕圈阶梯台砖瓦泥砂岩矿铁铜银铝钢煤炭液固态冰霜雾露虹霞晨暮昏晴阴晒晾烘
烧灰尘垃圾污染境源循益损赚亏币元贷款债税费扣促销售购超摊虑吵闹默寂宁稳危险障容简复众散乱齐饰豪朴素丽
漂丑陋俊帅怜恶善良诚虚伪骄傲谦逊耐急躁温柔凶猛残忍慈悲仁吝啬慷慨贪婪节俭浪珍惜尊敬佩羡慕嫉妒怨恨仇谊
恋婚姻庭聚议判协讨辩执架妥步弃继暂临永恒瞬刹秒辰昼午凌傍季历艺蹈戏绘雕塑摄筑划施监督供需索载货航列轨
速检登陆降抵延误签退质优劣估额余率倍描述讲叙讼宪刑构组织职岗绩效败功劳奉献牺牲奋斗努拼搏创革繁荣昌盛
富裕贫穷缩畏惧恐怖袭击炸弹枪炮坦舰卫卒袖席省县镇村庄寨屯岭峰坡崖沟渠塘池井泉瀑溪湾港岸滩礁波潮汐涌淌
滴渗漏溢缺积压核辐射振幅暗淡浓稀稠粘滑涩糙腻韧脆弱牢靠松弛缓慢迅疾徐渐逐排钮按触摸碰敲拍掌握拳甲腕臂
肘肩颈脖喉咙舌齿唇鼻耳眉睫颊腮胡丝肤肌肉骨骼髓肝脾肺肾胃肠膀胱脉喘咳嗽喷嚏欠盹梦幻既假概似乎仿佛竟显
刚忽偶写姓普希恩妮君冲庆丰泰亿川赵朱郑袁傅曹董梁宋唐沈韩邓冯谢薛贾邹孟邱侯魏潘杜戴范姜崔谭廖郝孔康贺
尹黎赖龚洛伊埃娜莎丹尼玛莉茜杰瑞托欧印澳菲巨咱您俩嘛呀哦嗯嘿喂唉哎嘴吻啦嘻噢哟咖啡茶酒糖盐酱醋饼糕苹
蕉橙葡萄莓桃梨瓜豆菜萝卜茄椒葱蒜菇玉麦稻棉花朵叶枝茎芽竹柏柳桂梅兰菊莲荷粮尝味饱肥瘠壮矮幼嫩熟闷烦恼
欢愉悦趣幽稽肃谨慎糊涂晰混浊透锐钝尖锋厉捷陡峭崎岖拥挤堵塞畅泞摇晃颤抖滚旋转扭拧捏揉搓撕剥削砍劈锄耕
割播撒殖牧驯驴骡骆驼鸽鸦雀燕鹤鸵鲸鲨豚龟虾蟹蚂蚁蝴蝶蜻蜓蚊蝇蜘蛛蟋蟀咪狐狸豹猩猿刺猬獾鼬貂崽骏奔驰骋
躺趴蹲跪攀跨拐掉仰俯伸挥招挽搂抚慰劝诫批赞扬夸鼓励驳疑询探寻觅搜侦捕获捉逮审拘押赦免罚炉灶铲筷碟壶罐
桶缸帘毯枕褥垫橱抽屉梳牙刷膏皂巾剃吹拖帚簸箕廊篱笆栅栏囱屋檐拜歉谅祝恭迎麻辛罢休聊汤渡隧乌肯懂饭阿昨
琴饺
""".split()


def characters() -> list[str]:
    """The common characters, each once, in the order above."""
    return list("".join(CHINESE))
