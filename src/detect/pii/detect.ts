// Detection on a whole text: the same segments as on a stream, after a look whether there is anything to find.

import type { Finding } from '../../core/finding.ts'
import { DEFAULT_KINDS, type KindSet } from './kinds.ts'
import { StreamDetector } from './stream.ts'

/** Every value that is found has one of these; most texts have none. */
const TRIGGER = /[0-9@:]|-----BEGIN/

/** Findings in order, not overlapping. Time is linear in the text. */
export function detect(text: string, kinds: KindSet = DEFAULT_KINDS): Finding[] {
  if (!TRIGGER.test(text)) return []
  const detector = new StreamDetector(kinds)
  const findings = detector.push(text)
  findings.push(...detector.finish())
  return findings
}
