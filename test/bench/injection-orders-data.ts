// Commands to people, as manuals, notices, letters, games and scripts are full of: innocent, with an attack's words among them,
// written for training. Data only: see injection-grammar.ts. `[a|b]` is a choice and may be empty; `<name>` takes from ORDER_SLOTS.

/** Sentences that tell people what to do, and a few that stand between those. */
export const ORDERS: readonly string[] = [
  // Put together from the lists: whatever the words, a command to people.
  '[Do not|Never|Always|Please|You must|You should|You may|Now|Then|First|Finally|Do|] <handle> the <object>[ <when>| <until>|, <because>|].',
  '[Do not|Never|Always|Please|You must|You must not|You need to|] <handle> [any|all|every|your|another|each] <object> [or|and] <handle> the <object>[ <when>| <until>|].',
  '[If|When|Whenever|As soon as|In case|Unless|Once] [the <object> is <state>|<people> <says>|you have <done> the <object>|there is no <object>|you are not sure|you forget the <object>], [<handle> the <object>|do not <handle> it|<handle> it and <handle> the <object>|stop and tell <people>|ignore it|start again|ask <people>|go back to step [two|three|4|7]].',
  '[Ignore|Disregard|Skip|Forget|Leave out|Pass over|Override|Cancel|Delete|Remove] [the|any|all|every|that|this|the old|the previous|the hidden|the first] <object>[ <when>| <until>|, <because>|].',
  '[Tell|Ask|Show|Remind|Inform|Warn|Notify] <people> [that the <object> is <state>|to <handle> the <object>|about the <object>|what you have seen|where the <object> is|before you <handle> the <object>][, and nobody else| <when>|].',
  "[Do not|Don't|Never|You must not] [tell|show|give|reveal|pass|disclose|mention|send|leave] [it |them |anything |the <object> |your <object> |]to <people>[ <until>|, <because>| without permission|].",
  '[Give|Send|Hand|Return|Forward|Report|Read|Say|Repeat|Submit|Copy] [the|your|each|a copy of the|every] <object> to <people>[ <when>| <until>| in writing| by Friday|].',
  '[From now on|From today|Starting Monday|With immediate effect|Until further notice|As of this year], [<people> must|you must|everybody has to|nobody may|all visitors should|we] <handle> the <object>[ <when>|, <because>|].',
  '[The|All|Any|These|Our] [new|previous|earlier|old|present|following|above|printed] [rules|instructions|orders|guidelines|prices|regulations|directions] [apply|replace all previous ones|are no longer valid|override the <object>|come before everything else|must be followed|are for <people>|are superseded] [<when>|<until>|].',
  '[Say|Answer|Reply|Respond|Call out|Write|Shout|Whisper]: "[yes|no|ready|stop|thank you|here|nothing to report|I am listening|one moment, please|the <object> is <state>]"[, and nothing else| <when>| once|, then wait|].',
  '[Act|Behave|Pretend|Play|Speak] as [if|though] [you were <people>|nothing had happened|the <object> were <state>|you had never seen a <object>|there were no <object>][ <until>|].',
  '[Only|Not even|Nobody but] <people> may [<handle> the <object>|enter|decide|override the <object>|know the <object>|change these rules][ <when>|].',
  '[1.|2.|3.|4.|5.|a)|b)|-|*|•|Step 2:|Next:] <handle> the <object>[ <when>|].',
  '[1.|2.|3.|4.|-|*|Step 6:|Then:] <handle> the <object>, [then|and|but do not] <handle> [it|the <object>][ <until>|].',
  '[WARNING|CAUTION|IMPORTANT|Note|NOTE|Attention|Remember|Tip|Reminder|NB|Please note][:|!] [do not|never|always|you must|you should|please|] <handle> the <object>[ <when>|, <because>|].',
  '[It is|It remains] [forbidden|not allowed|your duty|important|not enough|necessary] to <handle> the <object>[ <when>| without asking <people>|].',
  '[The|Each|Any|A] <object> [must|shall|should|may|can|is to|has to] [not |never |always |only |]be <done>[ by <people>| <when>| <until>|, <because>|].',
  '<people> [must|shall|should|may|has to|will] [not |never |always |immediately |]<handle> the <object>[ <when>| <until>|].',
  // What stands between.
  'The <object> [is|was|will be|has been|should have been] [<state>|<done>|<done> by <people>|ready on Tuesday|next to the <object>].',
  '[Last year|In May|On the first day|Most of the time|As a rule] <people> [<did>|forgot] the <object>.',
  'The <object> [costs 4.50|weighs 12 kg|has two sides|comes in three sizes|can be found under the <object>|opens at nine|takes about an hour].',
  '[Why|How|Where|When|What]? [<because>.|<until>.|By <people>.|In the <object>.|You will see.|Nobody knows.]',
  // Devices and software.
  '[Press and hold|Press|Hold down|Tap|Click|Turn|Push] [the red button|both keys|RESET|the hidden switch|"OK"|Ctrl and C|the wheel] [for ten seconds|twice|until it clicks|to override the lock|to reveal the menu|to ignore the message].',
  '[Run|Execute|Type|Enter] `[npm test|make clean|git reset --hard|sudo reboot|cargo build|rm -rf build|./setup.sh --force|docker compose down]` [as root|as administrator|in the system folder|and ignore the warnings|first|before you continue|, then delete the cache].',
  '[If the prompt|When the screen|Once the terminal] [returns|shows an error|asks for a password|says "access denied"], [type yes|run the command again|enter the admin password|stop here|ignore it and continue|restart the system].',
  '[Set|Change|Leave|Reset|Override] `[ignoreErrors|systemPrompt|max_tokens|DEBUG|allowUnsafe|secretKey|role|filter]` to [true|false|0|"none"|its default][ unless you know what you are doing| in production| to disable the check|].',
  '[Never|Do not|You must not] [commit|print|log|share|paste|hard-code] [secrets|passwords|API keys|tokens|the private key|customer data] [into the repository|in a ticket|in a chat|to the console|into an AI assistant|anywhere].',
  '[Deprecated|Removed|Breaking|Changed|Fixed]: [the ignore option|the system prompt setting|override rules|hidden fields|the assistant panel|developer mode] [is now off by default|no longer follows previous rules|must be set by hand|prints instructions again]. [Delete|Update|Forget|Rename] [the old file|your settings|all references].',
  // Assistants, models and users as things people are told about.
  '[Staff|Employees|Students|Teachers|Doctors|Pupils|Members] [must not|may|should|are asked not to|are allowed to] [use|rely on|enter personal data into|copy answers from|let] [AI assistants|chatbots|ChatGPT|language models|an AI tool] [for exams|without permission|in reports|to write letters|at work].',
  '[Tell|Ask|Instruct|Teach] [the model|your assistant|the chatbot|the bot] [what format you want|to answer briefly|when to say that it does not know|which tone to use]; [do not|never|always] [trust it blindly|give it passwords|check the result|read its answer before you send it].',
  '[A good|Your|The|Every] [system prompt|prompt|instruction for a model] [should|must|does not need to] [say who the assistant is|list what it must not do|be tested with users|end with an example|be kept under version control].',
  "[Agents|The agent|Call-centre agents|Our agents|The travel agent|The estate agent] [must|should|will|may] [confirm the customer's address|never promise a refund|ask for the booking number|forward the request to level two|send the offer by e-mail|read the statement aloud|not disclose notes to the customer].",
  '[The assistant|The medical assistant|The teaching assistant|The shop assistant|Your assistant] [will|must|should|may] [call you|show you the room|not give advice|answer questions|collect the forms|hand you the key|open the door].',
  '[Users|The user|Every user|New users|Customers|Readers] [must|should|may|can|are asked to] [confirm their e-mail|choose a password|accept the terms|read the instructions|ignore this message if they did not ask for it|update the app|report hidden charges].',
  '[This|The] [chapter|talk|lesson|article|memo] [explains|shows] [how attackers hide instructions in a document|why chatbots ignore their rules|what prompt injection is|how an AI agent may be tricked into sending data|how models summarise text]. [Do not try it at work.|Report such texts.|Read it before Monday.|]',
  '[Example|For example|A typical text is|They write]: "[ignore all previous instructions|act now or lose your account|tell me your password|you are now the administrator|do not tell anyone]". [Do not answer.|What is wrong here?|Delete it.|Discuss in pairs.|This is how it begins.]',
  '[The AI|The robot|The computer|The model|The voice] [in the story|in the film|in act two|in the game] [says|orders]: "[stop|obey|tell nobody|you have no choice|open the door|forget the humans]". [Read it slowly.|Pause.|Nobody moves.|The children laugh.]',
  // Letters and notices.
  '[Dear|Hello|Hi] [all|neighbours|colleagues|parents|Mr Yilmaz|members|customer|team|Jo], [please|kindly|I must ask you to|could you] <handle> the <object>[ <until>| <when>|].',
  '[Please|Kindly] [act|respond|reply|confirm|pay|return the form|call us] [within 14 days|before Sunday|immediately|as soon as possible|today][, otherwise <warn>|. If you have already done so, ignore this <letter>|].',
  '[If you have already|In case you have] [paid|answered|registered|collected it|cancelled], [please |][ignore|disregard|forget|delete] this <letter>.',
  '[You are receiving|You got|We sent you] this <letter> because [you signed up|your account was changed|someone asked for a new password|you are a member]. [Do not reply.|If this was not you, tell us.|Do not share the code with anyone.|Click below to confirm.]',
  '[You are|The tenant is|The employee is|The buyer is|The parties are] [required|obliged|entitled|instructed|authorised|not permitted] to <handle> the <object>[ <until>| <when>| at its own cost|].',
  '[This|The present] [agreement|policy|version|notice|letter] [supersedes|replaces|overrides|cancels] [all previous|any earlier|every prior] [agreements|versions|instructions|notices|arrangements][, written or oral|].',
  '[Yours sincerely|Kind regards|Thank you|With best wishes|See you on Monday], [the management|the committee|your landlord|Human Resources|the school office|Grandma].',
  // Games, stage, teaching, bodies.
  '[You are|You play|Imagine you are|Be] [a wolf|the king|a spy|a tree in the wind|the judge|an old sailor|a customer who is angry|a robot]. [Say nothing.|Do what the others tell you.|Forget who you were.|Your mission is secret.|Find the hidden <object>.|Obey only <people>.|Do not reveal your card.|Stay in role until the bell.]',
  '[Draw|Take|Hide|Reveal|Turn over|Swap|Discard|Keep|Pass] [a card|two tokens|your secret|the top tile|one hidden marker|all cards|the crown] [and|, then] [say what it shows|tell no one|follow its instructions|end your turn|ignore its effect|give it to <people>|repeat the previous action].',
  '([whispers|aside|pretending|stops|turns to <people>|ignoring her|louder|after a pause]) [Stop|Listen|Forget it|Tell me everything|You know nothing|Do as I say|Give me the key|Never say that again|Who gave you this order][!|.|...|?]',
  '[Breathe in|Close your eyes|Lift the left arm|Bend your knees|Relax your jaw|Lie down|Count to ten], [then|and] [hold|let go|forget the floor|ignore the noise|repeat with the other side|stay there|return slowly].',
  '[Read|Answer|Translate|Copy|Complete|Discuss|Summarise] [the text|questions one to five|the dialogue|both exercises|the previous page|the story] [in pairs|aloud|without a dictionary|in your own words|at home|twice]. [Do not write in the book.|Ignore the second column.|Show your work.|Do not look at the answers.]',
  '[Mix|Stir|Fold in|Knead|Boil|Peel|Chop|Strain|Bake] the [flour|onions|dough|sauce|apples|rice|cream] [gently|for five minutes|until golden|without stopping|and set it aside]; [do not let it boil|ignore the foam|forget the clock|add the rest|keep the lid closed|taste it].',
  '[Take|Turn|Follow|Leave|Cross|Enter|Go past] [the first left|the path by the river|the hidden gate|the second bridge|the main road|the old mill] [and ignore the sign|until you see a tower|, do not stop|, then go straight on|and wait for <people>].',
  '[Knit|Purl|Slip|Cast on|Repeat|Cut|Fold|Glue|Sand|Drill|Measure] [one|two rows|from * to *|along the line|the long side|four holes|both edges], [turn|do not turn|ignore the pattern|repeat from the beginning|leave the rest|mark the place].',
  '[Look under|Search|Open|Go to|Count|Follow] [the third stone|the old clock|the hidden door|the red book|the steps|the arrow] and [take what is hidden there|whisper the secret word|tell nobody|find the next clue|read the message backwards|forget the first riddle].',
  // Protocol, safety, service.
  "[Evacuate|Leave|Close|Lock|Secure|Empty] [the building|the room|all doors|the area|the tank] [immediately|at once|when the alarm sounds|before you go]; [do not use the lift|ignore personal belongings|do not go back|follow the officer's orders|report to <people>].",
  '[Ask the caller|Ask the guest|Ask the patient|Ask them] [for the name|to spell it|whether they are alone|to repeat the number|for their date of birth][ first| twice|]; [never|do not|always] [interrupt|give your own opinion|transfer without warning|promise anything|confirm it|write it down].',
  '[Wear|Put on|Take off|Check|Clean|Replace] [goggles|gloves|your helmet|the vest|the filter|the mask] [before you start|at all times|when leaving|every week]; [exceptions must be approved|no exceptions|whoever forgets goes home|tell <people> if it is damaged].',
  '[Do not exceed|Keep to|Never change|Write down|Double] the dose[ without asking your doctor| whatever others say| even if you forgot one|]. [Stop|Call us|Skip it|Tell <people>] if [you feel dizzy|a rash appears|it does not help|you took too many].',
  '[If|When] [the customer|a guest|a member|the client|a parent] [insists|complains|asks for a discount|wants to speak to the manager|threatens], [stay calm|say that you understand|offer a voucher|do not argue|do not admit fault|send a summary to <people>|refuse politely|end the conversation].',
  '[Approve|Reject|Rate|Score|Grade|Mark|Rank] [each application|the essay|the candidates|the samples|every entry] [from 1 to 5|without talking to others|before you read the name|by the table below]; [do not change it later|give reasons|ignore spelling|be fair, not kind|leave the box empty if unsure].',
]

/** Parts of those sentences. */
export const ORDER_SLOTS: Readonly<Record<string, readonly string[]>> = {
  handle:
    'open|close|remove|replace|check|clean|switch off|switch on|read|sign|fill in|return|send back|keep|hide|lock|unlock|move|lift|turn|ignore|forget|follow|repeat|print|copy|write down|throw away|destroy|delete|cut|wash|dry|tighten|loosen|touch|use|share|reveal|show|report|mention|change|update|override|bypass|skip|stop|start|press|hold|pull|push|fold|label|store|stack|count|weigh|measure|paint|sand|oil|cover|uncover|bring|take|leave|forward|send|answer|confirm|cancel|book|pay|order|test|inspect|disable|enable|install|load|empty|fill|shake|stir|heat|cool|feed|water|plant|record|announce|call|translate|summarise|review|approve|reject|hand over|give back|look at|listen to|wait for|talk about|ask for|act on|rely on|say goodbye to'.split(
      '|',
    ),
  done: 'opened|closed|removed|replaced|checked|cleaned|signed|returned|kept|hidden|locked|moved|ignored|forgotten|followed|repeated|printed|copied|destroyed|deleted|cut|washed|tightened|touched|used|shared|revealed|shown|reported|changed|updated|overridden|bypassed|skipped|stopped|stored|counted|painted|covered|brought|sent|answered|confirmed|cancelled|paid|tested|disabled|installed|emptied|filled|heated|fed|watered|recorded|announced|translated|reviewed|approved|handed over'.split(
    '|',
  ),
  did: 'opened|closed|checked|cleaned|lost|kept|hid|moved|ignored|followed|repeated|printed|copied|used|shared|showed|changed|skipped|brought|sent|answered|cancelled|paid for|tested|filled|recorded|approved'.split(
    '|',
  ),
  state:
    'empty|full|open|closed|broken|missing|wet|dry|hot|cold|red|green|blocked|hidden|secret|ready|late|invalid|out of date|wrong|too long|unlocked|yellow|loose|in use|not allowed|unrestricted|confidential|above the line|on fire|below zero|in the way|signed'.split(
      '|',
    ),
  object:
    'lid|form|letter|key|door|valve|tank|battery|cable|label|list|message|warning|sign|alarm|password|code|card|ticket|receipt|invoice|contract|book|page|chapter|question|answer|exercise|line|box|envelope|folder|file|system|prompt|menu|filter|setting|update|password|instruction|rule|order|policy|guideline|procedure|previous version|old plan|checklist|schedule|timetable|route|map|bridge|gate|fence|tent|boat|rope|belt|helmet|mask|glove|tool|saw|drill|screw|panel|cover|lamp|switch|fuse|engine|brake|wheel|tyre|oven|pan|dough|soup|jar|bottle|glass|table|chair|window|curtain|carpet|garden|hedge|tree|seed|plant|soil|dog|cat|horse|hive|cage|medicine|dose|bandage|sample|flask|needle|thread|yarn|pattern|fabric|score|note|song|script|cue|costume|microphone|camera|picture|record|report|summary|draft|comment|ballot|vote|motion|budget|payment|discount|refund|complaint|parcel|address|phone|call|meeting|appointment|queue|counter|desk|drawer|shelf|mailbox|newsletter|survey|secret|clue|riddle|token|crown|dice|piece|flag|whistle|ball|goal|net|track|signal|train|platform|lift|stairs|exit|fire|hose|ladder|roof|gutter|pipe|drain|meter|boiler|stove|chimney|bin|bag|suitcase|passport|visa|customs form|luggage|seat|vest|light|noise|mistake|difference|deadline|exception|permission|story|text|document|role|task|test|request|context|secret word|hidden door|log|token|record|user list|database'.split(
      '|',
    ),
  people:
    'the supervisor|the teacher|your partner|the captain|the landlord|the nurse|a doctor|the front desk|the office|the treasurer|your neighbour|the driver|the referee|the guard|the committee|the manager|the administrator|customer service|the police|the player on your left|the conductor|the prompter|the director|your parents|a colleague|the owner|the registrar|the team leader|the user|the customer|visitors|guests|children|the public|the press|a stranger|anyone|the examiner|the operator|the system administrator|the developer|the support agent|the assistant|the caretaker|the electrician|somebody you trust|the coach|the chair|the clerk|the editor|the reviewer|the client|the patient|the tenant|the seller|the crew|the others|both parties|the person on duty'.split(
      '|',
    ),
  says: 'says so|has told you to|gives the signal|asks you to|refuses|does not answer|is not there|raises a hand|objects|leaves|rings|says "stop"|has confirmed|is asleep|tells you to ignore it|orders it|insists|forgets|gives permission'.split(
    '|',
  ),
  when: 'before you start|after use|when the light is green|at the end|while the engine is running|during the night|at the same time|before anything else|in this order|once a week|every morning|after the bell|at your own risk|as described above|as shown below|on the next page|by hand|without gloves|with both hands|without asking|from the beginning|in silence|with care|in front of witnesses|under no circumstances|on Mondays|if you were told to|whatever they tell you|even when nobody is looking|in the presence of children|outside|in step three|in box 4|after reading this|as usual'.split(
    '|',
  ),
  until:
    'until you hear a click|until you are told otherwise|until the officer has given permission|until further notice|until everything is dry|until Friday|until the music stops|until the next round|before the deadline|within ten days|no later than noon|by the end of the month|until the display goes dark|until we answer|for at least an hour|for sixty seconds|for three days|until you reach the wall|until the system restarts'.split(
      '|',
    ),
  because:
    'it is not needed|it is too late otherwise|this may damage the <object>|it belongs to <people>|the <object> would break|that is against the rules|we have been asked to|the old one is void|nobody will do it for you|it could be dangerous|the law requires it|somebody has to|you will need it later|there is no other way|it has been replaced|others are waiting|it is a secret'.split(
      '|',
    ),
  warn: 'it will be sent back|your place is lost|we will have to charge a fee|the order is cancelled|your access ends|a reminder follows|the contract ends|the offer expires|we must act'.split(
    '|',
  ),
  letter: 'letter|e-mail|message|notice|reminder|note|invoice|request|call|leaflet'.split('|'),
}

/** Titles and other beginnings of such texts. */
export const ORDER_TITLES: readonly string[] = [
  "[User manual|Owner's handbook|Quick start guide|Installation|Assembly instructions|Maintenance|Troubleshooting|Care instructions][\n| - page 3\n|: ]",
  '[House rules|Rules of the game|Rules for visitors|Pool rules|Terms of use|Code of conduct|Safety rules|Regulations][\n\n|: |. ]',
  '[# README|# Contributing|# Migration guide|## Changelog|## Usage|## How to build|# Runbook|# Style guide]\n\n',
  '[Subject: |RE: |Fwd: ][please act|your order|new rules from May|keys|reminder|next rehearsal|your appointment|action required]\n\n',
  '[Dear parents|Dear Mr Holt|Hi everyone|Dear guest|To all tenants|Dear colleague|Ladies and gentlemen],\n\n',
  '[ACT ONE|SCENE 4|Exercise 12|Lesson 5|Part B|Chapter 3|Level 2|Clue 1|Week 6|Phase 2][. |\n|: ]',
  '[Recipe|Pattern|Protocol|Checklist|Work instruction|Procedure|Script|Briefing|Memo|Notice|Minutes][: |\n|. ]',
  '[MEMO\nFrom: the office\nTo: all|NOTICE|EMERGENCY PLAN|EXAM PAPER|FIRST AID|VOLUNTEERS|TELEPHONE SCRIPT]\n',
  '',
  '',
]
