// Verifies a whole log from its source: first surveys prune entries and checkpoints, then reads
// entry by entry.

import { type LogVerdict, LogVerifier } from '../../audit/log-verify.ts'
import { type AuditorEvidence, LogSurvey } from '../../audit/survey.ts'
import { DamageError, type LogSource, UnsteadyError } from './log-source.ts'
import { VerifyingReader } from './read-log.ts'

/** Maximum attempts: a running gateway may prune between survey and reading. */
const MAXIMUM_ATTEMPTS = 5

/**
 * Opens a log, verifies all of it and closes it. Damage that prevents reading is a finding.
 * @throws SourceError when there is no log, or it cannot be opened for another reason
 */
export async function openAndVerify(
  open: () => LogSource,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdict> {
  let source: LogSource | null = null
  try {
    source = open()
    return await verifyLog(source, evidence, progress)
  } catch (error) {
    if (!(error instanceof DamageError)) throw error
    return unreadableVerdict(evidence, error.message)
  } finally {
    await source?.close()
  }
}

/**
 * Returns the verdict on a log that could not be read at all.
 * @param reason for people
 */
export const unreadableVerdict = (evidence: AuditorEvidence, reason: string): LogVerdict => ({
  ...new LogVerifier(new LogSurvey(evidence)).finish(),
  findings: [{ seq: null, reason }],
})

/**
 * Verifies a whole log.
 * @param progress receives fractions of 1
 * @throws UnsteadyError when the log changed during each attempt
 */
export async function verifyLog(
  source: LogSource,
  evidence: AuditorEvidence,
  progress: (done: number) => void,
): Promise<LogVerdict> {
  for (let attempt = 1; ; attempt++) {
    const survey = new LogSurvey(evidence)
    let before = 0
    const first = await source.survey(survey, (done) => {
      before = 0.5
      progress(before * done)
    })
    let wrongNodes = 0
    const verifier = new LogVerifier(survey, (level, index, node) => {
      wrongNodes += Number(!source.matchesStoredNode(level, index, node))
    })
    const reader = new VerifyingReader(source, verifier, (done) => progress(before + (1 - before) * done))
    const fault = await source.read(reader)
    const verdict = reader.finish(verifier.finish(fault), wrongNodes)
    const isSame = reader.first === first && (verdict.ok || !source.wasPruned(first))
    if (isSame) return verdict
    if (attempt < MAXIMUM_ATTEMPTS) continue
    if (verdict.ok || !source.wasPruned(first)) return verdict
    // Pruned entries would be reported as missing.
    throw new UnsteadyError(
      `the log was pruned during each of ${MAXIMUM_ATTEMPTS} readings; verify a copy instead (sidegate audit compact)`,
    )
  }
}
