// What of a call is captured: its text, or only its entry. Combines what different sources say.

/** `full` stores the redacted texts of a call; `metadata` stores none. */
export const CAPTURE_MODES = ['full', 'metadata'] as const
export type CaptureMode = (typeof CAPTURE_MODES)[number]

/**
 * Combines what the configuration, the rules and others say of one call: `metadata` wins.
 * @param sources null for a source that says nothing
 */
export const combineCapture = (...sources: readonly (CaptureMode | null)[]): CaptureMode =>
  sources.includes('metadata') ? 'metadata' : 'full'
