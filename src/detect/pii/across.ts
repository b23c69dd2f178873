// Detection where texts that are read as one touch: what begins in one of them and ends in another. Each text by itself
// has been searched by then, so that of the whole only the segments around the joints are.

import type { Finding } from '../../core/finding.ts'
import { Cutter, cutBefore, MAX_SEGMENT } from './cuts.ts'
import { detect } from './detect.ts'
import { fold } from './fold.ts'
import { KEY_BEGIN } from './keyblock.ts'
import { type KindSet, PERSON } from './kinds.ts'
import { newSearch, scanFrom } from './scan.ts'
import { nextTrigger } from './trigger.ts'

/**
 * The findings of `detect` that begin before one of the joints and end behind it, and perhaps others near them. Time is
 * linear in the text and mostly that of the segments around the joints.
 * @param joints offsets in the text, ascending
 */
export function detectAcross(whole: string, joints: readonly number[], kinds: KindSet): Finding[] {
  // Keys and names have segments of their own.
  if (whole.includes(KEY_BEGIN) || (kinds & PERSON) !== 0) return detect(whole, kinds)
  const text = fold(whole)
  const findings: Finding[] = []
  const search = newSearch(text, 0, kinds, findings)
  const cutter = new Cutter()
  let end = 0
  let trigger = nextTrigger(text, 0, kinds)
  for (const joint of joints) {
    if (trigger < 0) break
    // It stood in the segment that was searched last.
    if (joint < end) continue
    let start = cutBefore(text, end, joint)
    end = start
    while (end >= 0 && end <= joint && start < joint) {
      start = end
      end = cutter.next(text, start, joint - start < MAX_SEGMENT ? joint : 0)
    }
    if (end < 0) end = text.length
    if (start === joint) continue
    if (trigger < start) trigger = nextTrigger(text, start, kinds)
    if (trigger >= 0 && trigger < end) trigger = scanFrom(search, trigger, start, end)
  }
  return findings
}
