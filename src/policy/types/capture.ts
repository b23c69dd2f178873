// Rules of type capture: whether the texts of a call are stored.

import { CAPTURE_MODES, type CaptureMode } from '../capture-mode.ts'
import { type RuleType, refuse } from '../rule-type.ts'

interface CapturePattern {
  readonly type: 'capture'
  readonly capture: CaptureMode
}

export const CAPTURE: RuleType<CapturePattern> = {
  name: 'capture',
  actions: [],
  directions: { allowed: [], because: 'capture concerns the whole call' },
  checks: 'whether the texts of a call are stored',
  writing: '`full` or `metadata`, which stores no text',
  form: { isList: false, hint: 'full, or metadata to store no text.' },
  parse(written) {
    const capture = CAPTURE_MODES.find((mode) => mode === String(written).trim())
    return capture === undefined ? refuse('must be `full` or `metadata`') : { type: 'capture', capture }
  },
  includes: (wide, narrow) => wide.pattern.capture === narrow.pattern.capture,
  lint: ({ pattern }) =>
    pattern.capture === 'full'
      ? [
          {
            field: 'pattern',
            message: 'changes nothing: text is captured unless something says `metadata`, which wins',
          },
        ]
      : [],
}
