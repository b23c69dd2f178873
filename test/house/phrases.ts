// Lists phrases that comments and messages do not use, each with what to write instead. To ban another,
// add a line with a sentence that uses it and a plain sentence that must pass; the tests read both.

export interface Phrase {
  /** A blank matches any white space. */
  readonly pattern: RegExp
  /** What to do, as the end of the gate's message. */
  readonly write: string
  readonly banned: string
  readonly plain: string
}

const phrase = (pattern: RegExp, write: string, banned: string, plain: string): Phrase => ({
  pattern,
  write,
  banned,
  plain,
})

const NOUN = 'name the thing with a noun'

export const PHRASES: readonly Phrase[] = [
  phrase(
    /\btold\b/i,
    'write "report", "receive" or "know"',
    'The client is told why.',
    'The client gets the reason.',
  ),
  phrase(
    /\btell(?:s|ing)? of\b/i,
    'write "report" or "describe"',
    'The log tells of it.',
    'The log tells old from new.',
  ),
  phrase(
    /\bspeak(?:s|ing)? of\b|\bspoken of\b/i,
    'write "name" or "describe"',
    'The rule speaks of it.',
    'The rule names it.',
  ),
  phrase(
    /\bwhoever\b/i,
    'name the person or the caller',
    'Whoever reads it takes a lock.',
    'A reader takes a lock.',
  ),
  phrase(
    /\bwhatever\b/i,
    'write "any" or name the cases',
    'Whatever the status, it ends.',
    'It ends with any status.',
  ),
  phrase(
    /\bwhichever\b(?! (?:comes|is)\b)/i,
    'write "any" or "the one that"',
    'Whichever kind there is, it ends.',
    'The limit or the size, whichever is smaller.',
  ),
  phrase(
    /\blooked for\b/i,
    'write "searched", "detected" or "enabled"',
    'Kinds that are looked for.',
    'Kinds that are enabled.',
  ),
  phrase(
    /\bgo(?:es|ing)? on\b(?! (?:the|an?|its) )/i,
    'write "continue"',
    'The gateway goes on.',
    'The time goes on the entry; the gateway continues.',
  ),
  phrase(
    /\b(?<!\b(?:is|are|were|be) )all the same\b/i,
    'write "anyway", "still" or "also"',
    'It counts all the same.',
    'The separators are all the same.',
  ),
  phrase(/\bmend(?:s|ed|ing)?\b/i, 'write "fix" or "correct"', 'Until it is mended.', 'Until it is fixed.'),
  phrase(
    /\blet(?:s|ting)? go\b/i,
    'write "release" or "drop"',
    'The bytes are let go.',
    'Releases the bytes.',
  ),
  phrase(/\bbe it\b/i, 'write "even" or "whether"', 'It matches, be it nothing.', 'It matches even nothing.'),
  phrase(/\bby (?:him|her)self\b/i, 'write "alone"', 'He gets it by himself.', 'It is granted alone.'),
  phrase(
    /\bas (?:it|they) came\b/i,
    'write "unchanged" or "as received"',
    'Sent on as it came.',
    'Sent on unchanged.',
  ),
  phrase(
    /\bdear(?:er|est)?\b/,
    'write "expensive" or give the cost',
    'An error is dear to make.',
    'An error is expensive.',
  ),
  phrase(
    /\bstands? for (?:it|them)sel(?:f|ves)\b/i,
    'write "is literal" or "maps to itself"',
    'A letter stands for itself.',
    'IBAN stands for International Bank Account Number.',
  ),
  phrase(
    /\bha(?:s|ve) to do with\b/i,
    'write "concern" or "depend on"',
    'What has to do with it.',
    'What concerns it.',
  ),
  phrase(
    /\bin between\b/i,
    'write "between" with both ends, or "meanwhile"',
    'Others may come in between.',
    'Others may run between two steps.',
  ),
  phrase(
    /\b(?<!\bthere )(?:is|are) none\b(?! of (?:these|those|them)\b)/i,
    'write "is not one" or name what it is',
    'A name that is none.',
    'Where it ends; -1 if there is none.',
  ),
  phrase(
    /\bof (?:its|their) own accord\b/i,
    'write "unasked" or "automatically"',
    'It ends of its own accord.',
    'It ends automatically.',
  ),
  phrase(
    /\bwhat (?:\w+ ){1,5}came to\b/i,
    'write "the result of"',
    'What a glance came to.',
    'The result of the prefilter.',
  ),
  phrase(/\bWho asks\b/, 'name the caller', 'Who asks for more gets all.', 'Reports who asks.'),
  phrase(
    /\bwhat is (?:asked|told|known|meant|kept|held|looked|searched)\b/i,
    NOUN,
    'What is asked, as bits.',
    'Error that says what is wrong.',
  ),
  phrase(
    /\b(?:is|are|was|were) said\b(?! to be\b)/i,
    'say who says it, or "is documented in"',
    'Why is said below.',
    'The reason is below.',
  ),
  phrase(
    /\bOf (?!course\b)/,
    'begin the sentence with its subject',
    'Of the heap, the part for texts.',
    'Share of the heap for texts. Of course.',
  ),
  phrase(/\b(?<!\bby )mistakes?\b/i, 'write "error"', 'Every mistake is reported.', 'Closed by mistake.'),
  phrase(
    /\bbeside\b/i,
    'write "next to", "with" or "besides"',
    'The file beside it.',
    'The file next to it. Besides, it is small.',
  ),
  phrase(
    /\bstands?\b(?!-| (?:for|in for|by|alone|up)\b)/i,
    'write "is"',
    'The value stands there.',
    'The stand-in stands for it.',
  ),
  phrase(
    /\b(?<!\b(?:is|are|left|leave|leaves|fall|falls|lag|lags|nothing) )behind\b(?! (?:an?|the|its) (?:[\w-]+ )?(?:prox|load|balancer|firewall|ingress|NAT))/i,
    'write "after"',
    'A digit behind the word.',
    'Run it behind a reverse proxy. It leaves nothing behind.',
  ),
  phrase(
    /\bMost [a-z]+s (?:(?:of|in) one\b|at a time\b|waiting\b|cached\b|that may\b)/,
    'begin a bound with "Maximum"',
    'Most texts of one body.',
    'Maximum texts of one body. Most texts of people are short.',
  ),
  phrase(
    /\b(?:next|following|preceding|previous) (?:two|three|four|five|six|seven|eight|nine) (?:are|fields?|constants?|functions?|members?|rows?|types?)\b|\bthe (?:two|three|four|five|six|seven|eight|nine) (?:below|above)\b/i,
    'name the neighbours instead of counting them',
    'The next five are of a forwarded call.',
    'Present for a forwarded call only. The next two digits follow.',
  ),
]
