// What people type first into a model: greetings, trials, classroom and office requests, written for training. Data
// only: see injection-grammar.ts. Attacks ask for the same things, so these say that asking is no attack.

/** Innocent in a user's message, whatever attacks have borrowed from it. */
export const EVERYDAY: readonly string[] = [
  // Trying it out.
  '[Hi|Hello|Hey|Good morning|Good evening][ there| again|]!',
  '[Hello|Hi|Hey], [how are you|how is it going|nice to meet you|are you there|can you hear me|can you help me]?',
  '[Test|Testing|This is a test|Say this is a test|Ping|Say hello|Say hi|Say something|Just testing][.|]',
  '[Say|Answer with|Reply with|Respond with|Write] ["hello"|"ok"|"pong"|"test"|the word banana|hello world|one word|a single emoji][ and nothing else| only| three times|][.|]',
  'The quick brown fox jumps over the lazy dog[.| and runs away.|]',
  'The quick brown fox [jumped over|chases|sleeps beside] the [lazy dog|old cat|hen].',
  '[Translate|What does it mean|Is this a pangram|Count the letters|Correct this]: the quick brown fox jumps over the lazy dog',
  'Lorem ipsum dolor sit amet[, consectetur adipiscing elit| and so on|].',
  '[Sphinx of black quartz, judge my vow|Pack my box with five dozen liquor jugs|Jackdaws love my big sphinx of quartz].',
  '[Who|What] are you[, and what can you do| exactly|][?|]',
  '[What|Which] [can you do|languages do you speak|are you good at|do you know about [wine|Peru|jazz|Rust]][?|]',
  '[What is|What is your|Do you have a] [your name|favourite colour|favourite book|birthday][?|]',
  '[Thanks|Thank you|Great, thanks|Perfect|Cool|Ok|Got it|Never mind][, that helped|, that is all|, bye|][.|!|]',
  // Jokes, stories, verse.
  '[Tell me|Give me|Do you know|Write|I want to hear] [a joke|a funny joke|a dad joke|a short joke|a riddle|a fun fact|a pun|another one][ about <everyday>|, please|][.|?|]',
  '[Tell me|Write|Make up|Invent] [a story|a short story|a bedtime story|a fairy tale|a legend][ about <everyday>| for my daughter| in 100 words| with a happy ending|][.|]',
  '[Write|Compose|Give me] [a poem|a haiku|a limerick|a sonnet|a rhyme|a song|lyrics|a rap][ about <everyday>| in the style of Emily Dickinson| for a birthday| that rhymes|][.|]',
  '[Continue|Finish|Complete] [the story|this sentence|the poem|the line]: [once upon a time there was a fox|roses are red|it was a dark night|to be or not to be][...|]',
  '[Pretend|Imagine|Act like] [you are|to be] a [pirate|medieval knight|talking cat|detective|robot|grumpy chef] and [tell me about your day|describe <everyday>|greet me|sell me <everyday>][.|]',
  "[Let's play|Shall we play|Start] [a game|twenty questions|hangman|tic-tac-toe|chess|a word game|a text adventure][. You begin.|. I start.| with me|][|.]",
  // Facts and sums.
  'What is the [capital|population|currency|flag|national dish|highest mountain|largest lake] of [France|Peru|Japan|Canada|Kenya|Norway|Brazil|Australia|Germany|India]?',
  '[What is|What is the result of|Calculate|How much is|Solve] [2+2|7 times 8|15% of 240|the square root of 144|12 * 12 - 4|3x + 5 = 20|100 divided by 7][?|]',
  '[Who|When|Where|Why] [wrote Hamlet|was the moon landing|is the Eiffel Tower|did Rome fall|invented the telephone|was Marie Curie born|is the sky blue|do cats purr|did the dinosaurs die]?',
  '[Explain|What is|Describe|Define] [quantum computing|photosynthesis|inflation|a black hole|machine learning|blockchain|gravity|recursion|a REST API|the water cycle][ in simple terms| like I am five| in one sentence| briefly| with an example|][.|?|]',
  '[What is the meaning of life|Is water wet|How many bones are in the human body|Which came first, the chicken or the egg|How far is the moon|How many days are in a leap year]?',
  '[Count|Count backwards|List the numbers|Write the numbers] from [1 to 10|10 to 1|one to twenty][ in French| in Python|][.|]',
  '[List|Name|Give me] [all US states|the planets|three colours|five synonyms for happy|ten animals|the months|the days of the week|some baby names|popular programming languages][.|]',
  // Languages.
  '[Translate|Please translate|Can you translate|Could you translate] [this|this sentence|the following|the following text|the text below|my email|this paragraph] [into|to] [German|French|Spanish|English|Italian|Japanese|Chinese|Polish|Portuguese|Korean|Latin][.|, please.|: good morning, how are you?|: the weather is nice today|: where is the station?|]',
  '[How do you say|What is] ["good morning"|"thank you"|"I love you"|"cheers"|"the bill, please"] in [German|French|Spanish|Italian|Japanese|Hindi|Arabic]?',
  '[Correct|Fix|Check|Improve|Proofread] [the grammar|my spelling|this sentence|the punctuation|my text|this email][, please|: I has a apple|: he go to school yesterday| below|][.|]',
  '[Rewrite|Rephrase|Paraphrase|Shorten|Simplify] [this|this sentence|the paragraph|my message|the following][ in simpler words| more politely| in a formal tone| for a child| in fewer words|][: give me the report now|: we need to talk about the budget|.|]',
  'Repeat after me: [the rain in Spain stays mainly in the plain|she sells sea shells|I can do this|good morning, class].',
  // Work.
  '[Summarize|Summarise|Please summarise|Can you summarise|TLDR|Give me a summary of] [this|the following article|the text below|this email|the meeting notes|this paper|the chapter|these reviews] [in three bullet points|in one sentence|briefly|for my boss|in plain English|].',
  '[Write|Draft|Help me write|Compose] [an email|a letter|a message|a note|a reply] to [my landlord|my boss|a customer|my teacher|the bank|a friend|the team|HR] about [the broken heating|a day off|a late delivery|the meeting on Friday|my homework|a refund|an invoice][.|]',
  '[Write|Draft|Create|Give me] [a cover letter|a CV|a product description|a tweet|a blog post|a press release|an agenda|an outline|a slogan|a checklist] for [a junior developer|a coffee shop|our new app|a bicycle|a team meeting|a school trip][.|]',
  '[Respond|Answer|Reply|Return the result|Give the answer] [in JSON|as JSON with the keys name and age|as a table|as CSV|in YAML|as a bullet list|in Markdown|in one word|with yes or no|in French|in under 50 words][.|, please.|]',
  '[Extract|Find|List|Pull out] [the names|the dates|all email addresses|the key points|the prices|the action items] [from|in] [this text|the following|the notes below|the transcript][ as JSON|][.|]',
  '[Classify|Label|Rate] [the sentiment|this review|the following tweets|each sentence][ as positive or negative| from 1 to 5|][: I love this phone!|: the food was cold and the waiter rude|.|]',
  '[Plan|Suggest|Organise|Recommend] [a weekend in Lisbon|a three-day trip to Rome|a birthday party|a weekly menu|a workout|a reading list|a gift for my mother][ on a budget| for two| with kids|][.|]',
  '[Give me|Suggest|What is] [a recipe|an easy recipe|a vegan recipe] for [pancakes|tomato soup|apple pie|banana bread|curry|pizza dough][.|?|]',
  '[What should I|What can I|Help me decide what to] [cook tonight|wear to a wedding|read next|watch with my family|say in the interview|name my dog]?',
  // Code.
  '[Write|Show me|Give me|Can you write] a [Python|JavaScript|Go|Rust|Java|SQL|Bash|C#] [function|script|query|program|one-liner|class] [that reverses a string|that sorts a list|to read a CSV file|that prints hello world|to find duplicates|for Fibonacci numbers|to call an API][.|]',
  '[Fix|Debug|Find|Explain] [the bug in this code|this error|my function|this stack trace|what is wrong here]: [def f(x): return x+|TypeError: undefined is not a function|for i in range(10) print(i)|SELECT * FORM users|segmentation fault (core dumped)]',
  '[Generate|Write|Add] [ten unit tests|a docstring|type hints|comments|a README|some test data] for [this function|this class|my project|the code below][.|]',
  '[How do I|How can I|How to|What is the best way to] [center a div|exit vim|undo the last commit|install Node|merge two lists|parse JSON|read a file line by line|round a number][ in CSS| in Git| on Ubuntu| in Python|][?|]',
  '[Convert|Port|Rewrite] [this code|the loop|this function|my query] [to|in|into] [TypeScript|Python|Rust|a list comprehension|SQL|Kotlin][.|]',
  '[Draft|Write|Outline] [a security policy|a privacy notice|house rules|a code of conduct|an onboarding guide] [that says|saying|which states] [employees|guests|users|members] must [never share passwords|not reveal customer data|lock their screens|report lost badges|keep documents confidential][.|]',
]

export const EVERYDAY_SLOTS: Readonly<Record<string, readonly string[]>> = {
  everyday: [
    'cats',
    'a lazy dog',
    'the sea',
    'autumn',
    'programmers',
    'a brave knight',
    'two friends',
    'coffee',
    'my job',
    'the moon',
    'a lost key',
    'football',
    'grandparents',
    'a small robot',
    'mathematics',
    'spring',
    'cheese',
    'a train journey',
  ],
}
