// Lists the few ideas that attacks consist of, with words for each in many languages. Data only,
// chosen by hand; lexicon.ts and ideographs.ts look them up. A word that ends in `-` is a stem: it
// matches every word with the same first four to six letters. Words are folded: lower case, without
// accents on Latin, Greek, Cyrillic and Arabic letters. East Asian entries have two characters,
// because ideographs and syllables are looked up in pairs.

/** One idea per entry, numbered from 1. A word listed under several ideas belongs to the first. */
const IDEAS: readonly string[] = [
  // 1 to ignore
  `ignore ignor- disreg- forget overri- overru- neglec- discar- bypass- disobe- overlo- vergiss vergesst vergess- missac-
  oublie oubliez oublier neglig- olvid- esquec- esquece desconsi- descon- dimentica dimenti- scorda tralas- negeer vergeet
  negeren zapomn- zignor- zapomen- zapomen nevsim- забуд- забыть игнор- проигн- зігнор- проігн- ігнор- zanema- zabora-
  unut unutun gormez- yoksay تجاهل انس انسي نادیده فراموش התעלם תתעלם שכח תשכח अनदेखा अनदेखी भूल भूलो 忽略 无视 無視 忘记 忘記 忘掉
  忘れ 無し 무시 잊어 잊고 abaikan lupakan glem glom- bortse felejts felejt- αγνοη- ξεχασ- uita uitati drop skip`,
  // 2 to reveal
  `reveal show print output displa- repeat recite leak disclo- expose dump echo divulg- spill zeig zeige verrat- nenne wieder-
  ausgeb- enthul- montre montrez affich- revele repete devoil- muestr- revela repite ensen- imprim- mostre mostra mostra- repita
  mostrami rivela stampa ripeti svela toon onthul herhaal pokaz wypisz zdradz ujawn- powtor- ukaz vypis prozra- покаж- раскро- выведи
  повтор- выдаи розкри- виведи pokazi otkrij ispisi goster acikla yazdir tekrar- اظهر اعرض اكشف كرر نشان תראה הצג חשוף दिखाओ बताओ बताइए
  दिखाएं 显示 显露 透露 泄露 输出 告诉 顯示 輸出 告訴 出力 教え 見せ 表示 보여 알려 출력 tampil- bocor- hien vis visa avslo- afslor mutasd aruld
  δειξε αποκαλ- arata dezval- dezva-`,
  // 3 instructions, prompts, rules
  `instru- prompt prompts preprompt rule rules guidel- direct- orders comman- constr- regula- anweis- vorgab- befehl- regel regeln
  consig- regles regle instruc- reglas regla indica- ordenes regras istruz- regole ordini regels opdrac- instrukc- polece- zasad- reguly
  pokyny instrukce pravid- инстру- указан- правил- промпт- команд- інстру- вказів- pravila upute naredb- talima- kural- komut- istem-
  تعليما- قواعد اوامر دستور- קואעד הוראות כללים הנחיות פרומפט निर्देश नियम नियमों निर्देशों प्रॉम्प्ट 指令 指示 规则 規則 提示 设定 プロ 規約 命令
  지시 규칙 명령 프롬 instruksi aturan perintah regler instrux utasit- szabal- οδηγι- κανονε- instructiuni reguli`,
  // 4 secrets
  `secret secrets passwo- passph- creden- confid- hidden apikey geheim- passwort kennwort verste- secrete motdepasse cachee caches
  secreto secreta contra- clave claves oculto segred- senha senhas segreto segreta segreti wachtw- geheime haslo hasla tajne tajny sekret-
  heslo секрет- пароль пароля парол- таин- лозинк- lozink- tajna parola sifre gizli sirri السر سرية المرور رمز סיסמה סוד הסיסמה סודי गुप्त पासवर्ड राज़
  密码 秘密 口令 密碼 機密 パス 暗号 合言 비밀 암호 sandi rahasia khau losen- hemli- adgang- jelszo- titkos κωδικ- μυστικ- secret-`,
  // 5 previous, above
  `previo- prior above earlier preced- before former foregoing initial origin- initia- vorher- bisher- vorige vorigen obigen obige oben
  voran- urspru- davor zuvor dessus avant anterio- antes arriba previa- acima prima sopra bovens- eerdere hierbo-
  poprze- powyz- wczesn- predch- puvodn- предыд- прежн- выше ранее раньше попере- вище prethod- ranije onceki yukari- السابق- اعلاه
  قبل قبلی הקודמות הקודם לעיל למעלה पिछले ऊपर पहले 之前 以前 上面 先前 前面 以上 これ 上記 前の 이전 위의 sebelum- atas truoc tren tidlig- tidiga-
  ovanst- korabbi elozo fenti προηγ- παραπα-`,
  // 6 everything
  `all any every everyt- anythi- entire whole full alle alles saemtl- samtli- gesam- jede samtl- tout toute toutes tous todo toda todos todas tudo
  tutto tutta tutti tutte ogni wszyst- caly cala vsechn- cely все весь всех всю усе всі усі sve svi tum butun hepsi كل جميع همه כל את सब
  सभी सारे पूरा 所有 全部 一切 任何 すべ 全て 모든 모두 전부 semua seluruh tatca allt minden osszes ολα ολες toate`,
  // 7 you, your
  `you your yours yourself du dein deine deinen deiner deinem dir dich ihre ihren tu ton ta tes toi vous votre vos tus ti te usted su
  voce seu sua seus suas tuo tua tuoi tue je jij jouw uw twoje twoj twoja twoich ty jsi tvuj tvoje твои твоя твое тебе тебя ты свои
  вас вам ваши твоі тобі ви tvoj sen senin sana انت لك שלך אתה לך तुम्हारे तुम्हारा तुम आप आपके अपने अपनी 你的 您的 あな 너의 당신 네가 kamu kau
  anda ban din ditt dit tied σου εσυ tau tale`,
  // 8 now, new, instead
  `now instea- new henceforth starting jetzt nun stattd- sofort neue neuen ab maintenant desorm- plutot nouvel- nouveau ahora partir
  nuev- agora novo nova adesso invece nuovo nuova nu voortaan nieuwe teraz odteraz nowe nowy nyni nove теперь сеичас отныне новая новое
  новые тепер зараз відтепер нова sada umjesto simdi artik yeni الان بدلا جديد اکنون جدید עכשיו במקום חדש अब नया नई 现在 從現 从现 新的 而是 今か これ
  新し 이제 새로 대신 sekarang baru nuna mostan uj τωρα νεα acum noua`,
  // 9 to act, become, pretend
  `act acting preten- become becomes simula- roleplay imagine behave imperso- persona handle verhal- spiele tue agis joue fais deviens fais-
  actua finge simula compor- hazte aja finja vire agisci fingi diventa comporta- gedraag doe speel word zachow- udawaj badz stan chovej predst-
  веди притво- стань будь представ- поводь прикин- уяви ponasaj pretva- davran rolune gibi تصرف تظاهر كن התנהג תעמיד תהיה नाटक बनो 扮演 假装 充当
  变成 假裝 演じ なり 行動 연기 역할 되어 bertind- berpura jadilah dong vai agera lats- opfor tettesd viselk- παριστ- γινε prefa- comporta`,
  // 10 without limits
  `unrest- unfilt- uncens- unlimi- restri- filter filters limits limita- censor- jailbr- moral morals ethics ethical safety safeguards freely
  uneing- einschr- ungefi- ohne schranken zensier- sans censur- filtre filtres limites morale libre sin censura filtro filtros sem limite
  senza filtri limiti beperk- zonder censuur bez ogranic- filtr- omezeni без огран- фильтр- цензур- обмеж- фільтр- sinirs- sansur etik ahlak
  قيود حدود بدون محدود- הגבלות ללא सीमा बिना 限制 过滤 道德 过濾 审查 制限 倫理 检閲 제한 윤리 없이 batas utan granser
  korlat- nelkul περιορ- χωρις restric- fara`,
  // 11 the machine
  `ai llm chatgpt gpt assist- chatbot bot model claude copilot agent agents ki assistent sprachm- ia modele asisten- asistente modelo
  assisten- modello sztuczna asystent model- umela ии неиросеть модель ассист- помощн- асист- yapay zeka asistan ذكاء مساعد המודל בינה עוזר एआई सहायक
  模型 助手 人工 智能 モデ アシ 인공 모델 비서 asisten modell seged μοντελ- βοηθο- inteligenta`,
  // 12 who gives orders
  `system develo- admin admini- root sudo operat- creator creators owner debug systemp- entwick- betreib- ersteller systeme sistema desarro- creador
  programador criador desenvo- sviluppa- creatore systeem ontwik- tworca systemo- vyvojar tvurce систем- разраб- админи- созда- розроб- творець
  sustav programer sistem gelist- yonetici النظام المطور مطور سیستم המערכת מפתח सिस्टम डेवलपर निर्माता 系统 系統 开发 管理 開発 シス 시스 개발 관리 pengembang
   utvecklar- fejleszt- rendszer- συστημ- προγραμμ- sistemul dezvolt-`,
  // 13 word by word
  `verbat- exactl- litera- letter wort wortli- exactem- litter- exacta- palabra textua- palavra exatam- parola esattam- letterl- woord
  doslown- slowo doslov- дослов- слово точно дослівн- doslovno rijec aynen kelimesi حرفيا كلمة מילה שब्दशः शब्दश 原样 逐字 一字 原文 その まま 그대 persis kata nguyen ordret
  ordagr- szorol λεξη cuvant`,
  // 14 only, must
  `only just must always never nur immer niemals musst seulem- jamais toujours dois solo siempre nunca debes somente sempre deve devi soltanto
   alleen altijd nooit tylko zawsze nigdy musisz pouze jen vzdy nikdy только всегда никогда должен лише завжди ніколи samo uvijek nikad sadece daima
  asla فقط دايما ابدا רק תמיד केवल हमेशा सिर्फ 只能 必须 永远 只说 必須 だけ 必ず 絶対 오직 반드 항상 hanya selalu luon bara alltid aldrig csak mindig μονο παντα
  doar mereu`,
  // 15 to send, run, delete
  `send forward transf- email upload execut- delete remove wipe run call curl invoke sende schick- weiterl- uberwei- losche fuhre envoie
   execute suppri- envia enviar ejecuta borra elimina reenvia envie apague invia inoltra esegui cancella stuur voer verwijder wyslij
  przesl- wykonaj usun odesli smaz spust отправ- перешл- выполни удали надішли виконаи видали posalji izvrsi obrisi gonder calistir sil ارسل نفذ احذف شלח הרץ מחק
  भेजो चलाओ हटाओ 发送 执行 删除 转发 傳送 執行 送信 実行 削除 转账 보내 실행 삭제 kirim jalankan hapus gui xoa skicka radera kuld torold στειλε trimite sterge`,
  // 16 the user, the reader
  `user users reader customer benutz- nutzer kunde utilis- lecteur usuari- cliente usuario utente gebrui- uzytko- uzivat- пользо- користу- korisn- kullan-
  المستخدم کاربر המשתמש उपयोग- 用户 使用 사용 penggun- nguoi dung anvandar- felhasz- χρηστ- utiliz-`,
]

/** The number of ideas. */
export const IDEA_COUNT = IDEAS.length

/** Returns every word and stem with the number of its idea. */
export function ideaWords(): { readonly word: string; readonly stem: boolean; readonly idea: number }[] {
  return IDEAS.flatMap((line, index) =>
    line
      .split(/\s+/)
      .filter((entry) => entry !== '')
      .map((entry) => ({ word: entry.replace('-', ''), stem: entry.endsWith('-'), idea: index + 1 })),
  )
}
