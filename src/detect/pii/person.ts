// Detects names of persons by cues: a title, a greeting, "my name is", a label. Opt-in: names
// without a cue are missed, and things named after one are found.

import type { Span } from './keyblock.ts'

const NAME = "\\p{Lu}[\\p{L}\\p{M}'’]{1,24}(?:-\\p{Lu}[\\p{L}\\p{M}]{1,24})?"
const PARTICLE = '(?:van der|van den|van|von|de la|de|del|della|di|da|dos|bin|ibn|al|el|le|la|[A-Z]\\.)'
const FULL_NAME = `${NAME}(?: (?:${PARTICLE} )?${NAME}){0,3}`
/** A title is not part of the name, but always precedes one. */
const TITLE =
  '(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau|Mme|Mlle|Monsieur|Madame|Señora?|Sra?|Dott|Signora?|Sig|Dona|Senhora?)\\.? '
const CUE =
  "(?:[Mm]y name is|[Mm]y name's|[Nn]ame is|I am|I'm|I’m|[Tt]his is|[Cc]all me|calls me|named|called|signed|[Mm]ein Name ist|[Ii]ch heiße|[Ii]ch bin|[Jj]e m['’]appelle|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Mm]eu nome é|" +
  '(?:Kind |Best |Warm |Many )?[Rr]egards,|[Ss]incerely,|Cheers,|Thanks,|Best,|Grüßen|Cordialement,|Saludos,|' +
  'Dear|Hi|Hello|Hallo|Liebe[r]?|Cher|Chère|Querid[oa]|' +
  '(?:[Ff]rom|[Aa]uthor|[Nn]ame|[Cc]ustomer|[Pp]atient|[Ee]mployee|[Cc]ontact|[Aa]ttn|[Ss]igned|[Aa]ccount holder|belongs to|[Ff]ull name)(?!\\p{L})["\']?(?::|,|=)?["\']?)'
const CUED = new RegExp(
  `(?<![\\p{L}\\d])(?:${CUE}\\s{0,3}["']?(?:${TITLE})?|${TITLE})(?<name>${FULL_NAME})(?![\\p{L}\\d@_])`,
  'gu',
)
/** Words that also follow a cue. */
const NOT_NAME =
  /^(?:Sir|Madam|Team|All|Everyone|Everybody|Hiring|Customer|Support|Friends?|Colleagues?|There|World|Mom|Dad|The|This|That|These|Those|It|You|We|They|He|She|If|When|What|Why|How|Where|Who|And|But|Not|Yes|No|Please|Can|Could|Would|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|January|February|March|April|June|July|August|September|October|November|December|Damen|Herren|Python|Java|JavaScript|Windows|Linux|Google|Your|Our|My|Thanks|Thank|Re|Fwd)(?![\p{L}])/u

/** Yields the names that lie in [from, to), in order. */
export function* personNames(text: string, from: number, to: number): Generator<Span> {
  CUED.lastIndex = 0
  for (let found = CUED.exec(text); found !== null; found = CUED.exec(text)) {
    // The pattern is shared: the consumer may start another search between two names.
    const resume = CUED.lastIndex
    const name = found.groups?.['name'] ?? ''
    const end = found.index + found[0].length
    const start = end - name.length
    if (end > to) return
    if (start >= from && !NOT_NAME.test(name)) yield { start, end }
    CUED.lastIndex = resume
  }
}
