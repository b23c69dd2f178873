// Adapts the detector to the interface of detector benchmarks: `detect`, `redact` and a redacting
// stream.

import { type Finding, PII_KINDS } from '../../src/core/finding.ts'
import { detect as find } from '../../src/detect/pii/detect.ts'
import { StreamDetector } from '../../src/detect/pii/detect-stream.ts'
import { kindSet } from '../../src/detect/pii/kinds.ts'

export const name = 'sidegate'

const EVERY_KIND = kindSet(PII_KINDS)

/** Detects every kind, including the opt-in ones. */
export const detect = (text: string): Finding[] => find(text, EVERY_KIND)

/** Detects the default kinds; its time is measured. */
export const fast = (text: string): Finding[] => find(text)

const label = (finding: Finding): string => `[${finding.kind.toUpperCase()}]`

/** Returns the text with every finding replaced by its kind. */
export function redact(text: string): string {
  let out = ''
  let from = 0
  for (const finding of find(text)) {
    out += text.slice(from, finding.start) + label(finding)
    from = finding.end
  }
  return out + text.slice(from)
}

interface RedactingStream {
  push(chunk: string): string
  end(): string
  /** Characters held back. */
  pending(): number
}

/** `redact` for a text that arrives in chunks. */
export function createStream(): RedactingStream {
  const detector = new StreamDetector()
  let held = ''
  let base = 0
  const release = (findings: readonly Finding[], safe: number): string => {
    let out = ''
    let from = base
    for (const finding of findings) {
      out += held.slice(from - base, finding.start - base) + label(finding)
      from = finding.end
    }
    out += held.slice(from - base, safe - base)
    held = held.slice(safe - base)
    base = safe
    return out
  }
  return {
    push(chunk) {
      held += chunk
      return release(detector.push(chunk), detector.safe)
    },
    end: () => release(detector.finish(), base + held.length),
    pending: () => held.length,
  }
}
