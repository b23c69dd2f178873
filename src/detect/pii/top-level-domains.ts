// Lists the names that end a domain in use: the root zone of the DNS, and names inside companies.

/** Codes of countries and territories (ISO 3166-1). */
const COUNTRIES =
  'ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv ' +
  'bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es ' +
  'et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu ' +
  'id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt ' +
  'lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no ' +
  'np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si ' +
  'sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk ' +
  'us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw'

/** Names of three letters and more. */
const GENERIC =
  'aaa aarp abb abbott abbvie abc able abogado abudhabi academy accenture accountant accountants aco ' +
  'actor ads adult aeg aero aetna afl africa agakhan agency aig airbus airforce airtel akdn alibaba ' +
  'alipay allfinanz allstate ally alsace alstom amazon americanexpress americanfamily amex amfam amica ' +
  'amsterdam analytics android anquan anz aol apartments app apple aquarelle arab aramco archi army ' +
  'arpa art arte asda asia associates athleta attorney auction audi audible audio auspost author auto ' +
  'autos aws axa azure baby baidu banamex band bank bar barcelona barclaycard barclays barefoot ' +
  'bargains baseball basketball bauhaus bayern bbc bbt bbva bcg bcn beats beauty beer berlin best ' +
  'bestbuy bet bharti bible bid bike bing bingo bio biz black blackfriday blockbuster blog bloomberg ' +
  'blue bms bmw bnpparibas boats boehringer bofa bom bond boo book booking bosch bostik boston bot ' +
  'boutique box bradesco bridgestone broadway broker brother brussels build builders business buy buzz ' +
  'bzh cab cafe cal call calvinklein cam camera camp canon capetown capital capitalone car caravan ' +
  'cards care career careers cars casa case cash casino cat catering catholic cba cbn cbre center ceo ' +
  'cern cfa cfd chanel channel charity chase chat cheap chintai christmas chrome church cipriani circle ' +
  'cisco citadel citi citic city claims cleaning click clinic clinique clothing cloud club clubmed ' +
  'coach codes coffee college cologne com commbank community company compare computer comsec condos ' +
  'construction consulting contact contractors cooking cool coop corsica country coupon coupons courses ' +
  'cpa credit creditcard creditunion cricket crown crs cruise cruises cuisinella cymru cyou dad dance ' +
  'data date dating datsun day dclk dds deal dealer deals degree delivery dell deloitte delta democrat ' +
  'dental dentist desi design dev dhl diamonds diet digital direct directory discount discover dish diy ' +
  'dnp docs doctor dog domains dot download drive dtv dubai dupont durban dvag dvr earth eat eco edeka ' +
  'edu education email emerck energy engineer engineering enterprises epson equipment ericsson erni esq ' +
  'estate eurovision eus events exchange expert exposed express extraspace fage fail fairwinds faith ' +
  'family fan fans farm farmers fashion fast fedex feedback ferrari ferrero fidelity fido film final ' +
  'finance financial fire firestone firmdale fish fishing fit fitness flickr flights flir florist ' +
  'flowers fly foo food football ford forex forsale forum foundation fox free fresenius frl frogans ' +
  'frontier ftr fujitsu fun fund furniture futbol fyi gal gallery gallo gallup game games gap garden ' +
  'gay gbiz gdn gea gent genting george ggee gift gifts gives giving glass gle global globo gmail gmbh ' +
  'gmo gmx godaddy gold goldpoint golf goodyear goog google gop got gov grainger graphics gratis green ' +
  'gripe grocery group gucci guge guide guitars guru hair hamburg hangout haus hbo hdfc hdfcbank health ' +
  'healthcare help helsinki here hermes hiphop hisamitsu hitachi hiv hkt hockey holdings holiday ' +
  'homedepot homegoods homes homesense honda horse hospital host hosting hot hotels hotmail house how ' +
  'hsbc hughes hyatt hyundai ibm icbc ice icu ieee ifm ikano imamat imdb immo immobilien inc industries ' +
  'infiniti info ing ink institute insurance insure int international intuit investments ipiranga irish ' +
  'ismaili ist istanbul itau itv jaguar java jcb jeep jetzt jewelry jio jll jmp jnj jobs joburg jot joy ' +
  'jpmorgan jprs juegos juniper kaufen kddi kerryhotels kerryproperties kfh kia kids kim kindle kitchen ' +
  'kiwi koeln komatsu kosher kpmg kpn krd kred kuokgroup kyoto lacaixa lamborghini lamer land landrover ' +
  'lanxess lasalle lat latino latrobe law lawyer lds lease leclerc lefrak legal lego lexus lgbt lidl ' +
  'life lifeinsurance lifestyle lighting like lilly limited limo lincoln link live living llc llp loan ' +
  'loans locker locus lol london lotte lotto love lpl lplfinancial ltd ltda lundbeck luxe luxury madrid ' +
  'maif maison makeup man management mango map market marketing markets marriott marshalls mattel mba ' +
  'mckinsey med media meet melbourne meme memorial men menu merck merckmsd miami microsoft mil mini ' +
  'mint mit mitsubishi mlb mls mma mobi mobile moda moe moi mom monash money monster mormon mortgage ' +
  'moscow moto motorcycles mov movie msd mtn mtr museum music nab nagoya name navy nba nec net netbank ' +
  'netflix network neustar new news next nextdirect nexus nfl ngo nhk nico nike nikon ninja nissan ' +
  'nissay nokia norton now nowruz nowtv nra nrw ntt nyc obi observer office okinawa olayan olayangroup ' +
  'ollo omega one ong onl online ooo open oracle orange org organic origins osaka otsuka ott ovh page ' +
  'panasonic paris pars partners parts party pay pccw pet pfizer pharmacy phd philips phone photo ' +
  'photography photos physio pics pictet pictures pid pin ping pink pioneer pizza place play ' +
  'playstation plumbing plus pnc pohl poker politie porn post praxi press prime pro prod productions ' +
  'prof progressive promo properties property protection pru prudential pub pwc qpon quebec quest ' +
  'racing radio read realestate realtor realty recipes red redumbrella rehab reise reisen reit reliance ' +
  'ren rent rentals repair report republican rest restaurant review reviews rexroth rich richardli ' +
  'ricoh ril rio rip rocks rodeo rogers room rsvp rugby ruhr run rwe ryukyu saarland safe safety sakura ' +
  'sale salon samsclub samsung sandvik sandvikcoromant sanofi sap sarl sas save saxo sbi sbs scb ' +
  'schaeffler schmidt scholarships school schule schwarz science scot search seat secure security seek ' +
  'select sener services seven sew sex sexy sfr shangrila sharp shell shia shiksha shoes shop shopping ' +
  'shouji show silk sina singles site ski skin sky skype sling smart smile sncf soccer social softbank ' +
  'software sohu solar solutions song sony soy spa space sport spot srl stada staples star statebank ' +
  'statefarm stc stcgroup stockholm storage store stream studio study style sucks supplies supply ' +
  'support surf surgery suzuki swatch swiss sydney systems tab taipei talk taobao target tatamotors ' +
  'tatar tattoo tax taxi tci tdk team tech technology tel temasek tennis teva thd theater theatre tiaa ' +
  'tickets tienda tips tires tirol tjmaxx tjx tkmaxx tmall today tokyo tools top toray toshiba total ' +
  'tours town toyota toys trade trading training travel travelers travelersinsurance trust trv tube tui ' +
  'tunes tushu tvs ubank ubs unicom university uno uol ups vacations vana vanguard vegas ventures ' +
  'verisign versicherung vet viajes video vig viking villas vin vip virgin visa vision viva vivo ' +
  'vlaanderen vodka volvo vote voting voto voyage wales walmart walter wang wanggou watch watches ' +
  'weather weatherchannel webcam weber website wed wedding weibo weir whoswho wien wiki williamhill win ' +
  'windows wine winners wme woodside work works world wow wtc wtf xbox xerox xihuan xin xxx xyz yachts ' +
  'yahoo yamaxun yandex yodobashi yoga yokohama you youtube yun zappos zara zero zip zone zuerich'

/** Names in other scripts, encoded (RFC 5890). */
const INTERNATIONAL =
  'xn--11b4c3d xn--1ck2e1b xn--1qqw23a xn--2scrj9c xn--30rr7y xn--3bst00m xn--3ds443g xn--3e0b707e ' +
  'xn--3hcrj9c xn--3pxu8k xn--42c2d9a xn--45br5cyl xn--45brj9c xn--45q11c xn--4dbrk0ce xn--4gbrim ' +
  'xn--54b7fta0cc xn--55qw42g xn--55qx5d xn--5su34j936bgsg xn--5tzm5g xn--6frz82g xn--6qq986b3xl ' +
  'xn--80adxhks xn--80ao21a xn--80aqecdr1a xn--80asehdb xn--80aswg xn--8y0a063a xn--90a3ac xn--90ae ' +
  'xn--90ais xn--9dbq2a xn--9et52u xn--9krt00a xn--b4w605ferd xn--bck1b9a5dre4c xn--c1avg xn--c2br7g ' +
  'xn--cck2b3b xn--cckwcxetd xn--cg4bki xn--clchc0ea0b2g2a9gcd xn--czr694b xn--czrs0t xn--czru2d ' +
  'xn--d1acj3b xn--d1alf xn--e1a4c xn--eckvdtc9d xn--efvy88h xn--fct429k xn--fhbei xn--fiq228c5hs ' +
  'xn--fiq64b xn--fiqs8s xn--fiqz9s xn--fjq720a xn--flw351e xn--fpcrj9c3d xn--fzc2c9e2c ' +
  'xn--fzys8d69uvgm xn--g2xx48c xn--gckr3f0f xn--gecrj9c xn--gk3at1e xn--h2breg3eve xn--h2brj9c ' +
  'xn--h2brj9c8c xn--hxt814e xn--i1b6b1a6a2e xn--imr513n xn--io0a7i xn--j1aef xn--j1amh xn--j6w193g ' +
  'xn--jlq480n2rg xn--jvr189m xn--kcrx77d1x4a xn--kprw13d xn--kpry57d xn--kput3i xn--l1acc ' +
  'xn--lgbbat1ad8j xn--mgb9awbf xn--mgba3a3ejt xn--mgba3a4f16a xn--mgba7c0bbn0a xn--mgbaam7a8h ' +
  'xn--mgbab2bd xn--mgbah1a3hjkrd xn--mgbai9azgqp6j xn--mgbayh7gpa xn--mgbbh1a xn--mgbbh1a71e ' +
  'xn--mgbc0a9azcg xn--mgbca7dzdo xn--mgbcpq6gpa1a xn--mgberp4a5d4ar xn--mgbgu82a xn--mgbi4ecexp ' +
  'xn--mgbpl2fh xn--mgbt3dhd xn--mgbtx2b xn--mgbx4cd0ab xn--mix891f xn--mk1bu44c xn--mxtq1m ' +
  'xn--ngbc5azd xn--ngbe9e0a xn--ngbrx xn--node xn--nqv7f xn--nqv7fs00ema xn--nyqy26a xn--o3cw4h ' +
  'xn--ogbpf8fl xn--otu796d xn--p1acf xn--p1ai xn--pgbs0dh xn--pssy2u xn--q7ce6a xn--q9jyb4c ' +
  'xn--qcka1pmc xn--qxa6a xn--qxam xn--rhqv96g xn--rovu88b xn--rvc1e0am3e xn--s9brj9c xn--ses554g ' +
  'xn--t60b56a xn--tckwe xn--tiq49xqyj xn--unup4y xn--vermgensberater-ctb xn--vermgensberatung-pwb ' +
  'xn--vhquv xn--vuq861b xn--w4r85el8fhu5dnra xn--w4rs40l xn--wgbh1c xn--wgbl6a xn--xhq521b ' +
  'xn--xkc2al3hye2a xn--xkc2dl3a5ee0h xn--y9a3aq xn--yfro4i67o xn--ygbi2ammx xn--zfr164b'

/** The same, not encoded, in the scripts that separate words by spaces. */
const INTERNATIONAL_LETTERS =
  'कॉम ಭಾರತ ଭାରତ ভাৰত ভারত ישראל موقع বাংলা москва қаз католик онлайн сайт срб бг бел קום орг नेट ' +
  'சிங்கப்பூர் дети мкд ею كوم భారత్ ලංකා ભારત भारतम् भारत भारोत संगठन ком укр мон الجزائر عمان ' +
  'ارامكو ایران العليان امارات بازار موريتانيا پاکستان الاردن بارت بھارت المغرب ابوظبي البحرين ' +
  'السعودية ڀارت كاثوليك سودان همراه عراق مليسيا شبكة بيتك عرب გე سورية рус рф تونس ευ ελ ഭാരതം ' +
  'ਭਾਰਤ vermögensberater vermögensberatung مصر قطر இலங்கை இந்தியா հայ فلسطين'

/**
 * Names that no registry delegates: examples (RFC 2606), mDNS (RFC 6762), networks of companies.
 */
const UNDELEGATED = 'example local internal corp lan home intranet private'

/** The root zone as IANA published it on 16 May 2026, and UNDELEGATED. */
const TOP_LEVELS: ReadonlySet<string> = new Set(
  [COUNTRIES, GENERIC, INTERNATIONAL, INTERNATIONAL_LETTERS, UNDELEGATED].flatMap((names) =>
    names.split(' '),
  ),
)

/** Reports whether a name is a top-level domain in use; in any case. */
export const isTopLevelDomain = (name: string): boolean => TOP_LEVELS.has(name.toLowerCase())
