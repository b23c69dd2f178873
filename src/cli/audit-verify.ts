// `sidegate audit verify`: its inputs, the verdict and the progress for people, the result that the
// gateway's metrics read, and `--receipt`, which verifies the signed receipt of a call without the
// log.

import { createReadStream, createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { LogVerdict } from '../audit/log-verify.ts'
import { readVerifier } from '../audit/note.ts'
import { MAXIMUM_RECEIPT_BYTES } from '../audit/receipt-fields.ts'
import { type ReceiptVerdict, verifyReceipt } from '../audit/receipt-verify.ts'
import { parseObject, type TrustedKey } from '../audit/survey.ts'
import { isPartial, uncovered, verdictObject } from '../audit/verdict.ts'
import { systemClock } from '../core/clock.ts'
import { resultOf, saveResult } from '../store/verification/last-result.ts'
import { SourceError } from '../store/verification/log-source.ts'
import { type CommandIo, type CommandOutput, type ExitCode, writeLine } from './command.ts'

const BAR_CHARACTERS = 30

/**
 * Returns a function that draws the progress on a terminal, from 0 to 1. 1 clears the bar; a pipe
 * gets nothing.
 * @param work what is done, before the bar
 */
export function progressBar(output: CommandOutput, work = 'checking'): (done: number) => void {
  let shown = -1
  return (done) => {
    const filled = Math.floor(done * BAR_CHARACTERS)
    if (!output.isTTY || filled === shown) return
    shown = filled
    const bar = `${'#'.repeat(filled)}${'.'.repeat(Math.max(0, BAR_CHARACTERS - filled))}`
    output.write(done >= 1 ? '\r\u001b[K' : `\r${work} [${bar}] ${Math.floor(done * 100)} %`)
  }
}

/** Stores the result in the data directory, where a gateway finds it. */
export function keepResult(path: string, verdict: LogVerdict): void {
  try {
    saveResult(path, resultOf(verdictObject(verdict), systemClock.now()))
  } catch {
    // A copy to verify may be read-only; the exit code has the result.
  }
}

/** Formats the verdict as rows of a name and a text. */
export function verdictText(verdict: LogVerdict): string {
  const { head, firstSeq, agreeing } = verdict
  const row = (name: string, text: string) => `${name.padEnd(13)}${text}`
  const lines = [row('log', verdict.log ?? 'unknown')]
  if (head !== null) {
    lines.push(row('entries', `${firstSeq} to ${head.seq}, ${BEGINNINGS[verdict.beginning]}`))
    lines.push(row('head', head.hash))
  }
  if (verdict.root !== null) lines.push(row('root', verdict.root))
  const signed = verdict.signaturesChecked
    ? 'signatures checked'
    : 'signatures not checked; give --public-key'
  lines.push(
    row(
      'checkpoints',
      `${agreeing.elsewhere} kept elsewhere and ${agreeing.beside} stored with the log agree; ${signed}`,
    ),
  )
  const open = uncovered(verdict)
  if (open !== null) lines.push(row('uncovered', open))
  for (const limit of verdict.limits) lines.push(row('not checked', limit))
  for (const { seq, reason } of verdict.findings) {
    lines.push(row('FOUND', seq === null ? reason : `at ${seq}: ${reason}`))
  }
  const count = verdict.findings.length === 1 ? '1 finding' : `${verdict.findings.length} findings`
  const pass = isPartial(verdict) ? 'PASS (partial)' : 'PASS'
  lines.push(row('verdict', verdict.ok ? pass : `FAIL, ${count}`))
  return lines.join('\n')
}

const BEGINNINGS = {
  genesis: 'from the genesis entry',
  prune: 'earlier ones pruned, as sealed in a prune entry',
  dropped: 'earlier ones dropped with their months, as the hubs have noted in log_cut',
  unanchored: 'a part of a log: nothing ties it to the beginning (--partial accepts that in an export)',
} as const

/**
 * Verifies the receipt in a file and prints the result of each step.
 * @param file `-` for standard input
 * @throws SourceError (rejects) when it cannot be read
 */
export async function verifyReceiptFile(
  file: string,
  keys: readonly TrustedKey[],
  format: 'pretty' | 'json',
  io: CommandIo,
): Promise<ExitCode> {
  const verdict = verifyReceipt(await readBounded(file), keys)
  writeLine(io.out, format === 'json' ? JSON.stringify(verdict) : receiptText(verdict))
  return verdict.ok ? 0 : 1
}

/** Reads no more than shows that a receipt is too long. */
async function readBounded(file: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      chunks.push(chunk as Buffer)
      bytes += (chunk as Buffer).length
      if (bytes > MAXIMUM_RECEIPT_BYTES) break
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError(`${file} cannot be read (${code}); check the path and its permissions`, {
      cause: error,
    })
  }
  return Buffer.concat(chunks)
}

/** Formats the verdict as rows of a name and a text, as `verdictText`. */
function receiptText({ ok, steps, entry }: ReceiptVerdict): string {
  const row = (name: string, text: string) => `${name.padEnd(13)}${text}`
  const rows = steps.map((one) => row(one.step, one.ok === false ? `FOUND ${one.detail}` : one.detail))
  if (entry !== null) rows.unshift(row('log', String(entry['log'])), row('call', String(entry['id'])))
  const failed = steps.find((one) => one.ok === false)
  return [...rows, row('verdict', ok ? 'PASS' : `FAIL at ${failed?.step}`)].join('\n')
}

const OPENING_BRACE = 0x7b
const PEM = /-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g

/** @throws SourceError when the file cannot be read */
export function readInput(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new SourceError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}); check the path and its permissions`,
    )
  }
}

/**
 * Reads the trusted public keys in a file.
 * @throws SourceError when it has none, or other content
 */
export function readKeys(file: string): TrustedKey[] {
  const text = readInput(file).toString('utf8')
  try {
    // PEM has no name: the key is trusted under the name of any log it signed.
    const unnamed = (text.match(PEM) ?? []).map((pem) => ({
      name: null,
      key: readVerifier(pem, 'sidegate').key,
    }))
    const lines = text.replaceAll(PEM, '').split('\n')
    const named = lines.filter((line) => line.trim() !== '').map((line) => readVerifier(line, ''))
    if (unnamed.length + named.length === 0)
      throw new Error('it has none; give PEM or signed-note verifier keys')
    return [...unnamed, ...named]
  } catch (error) {
    throw new SourceError(`${file} holds no public key: ${(error as Error).message}`)
  }
}

/**
 * Reads the signed notes in a file: one note, one JSON object with `checkpoint`, or JSON Lines such
 * as the gateway's own log.
 * @throws SourceError when it has none
 */
export function readNotes(file: string): (string | Buffer)[] {
  const bytes = readInput(file)
  // A note begins with its origin, which is never a brace.
  if (bytes[0] !== OPENING_BRACE) return [bytes]
  const whole = parseObject(bytes)
  const lines = bytes.toString('utf8').split('\n')
  const objects = whole === null ? lines.map((line) => parseObject(Buffer.from(line))) : [whole]
  const notes = objects.map((object) => object?.['checkpoint']).filter((note) => typeof note === 'string')
  if (notes.length === 0)
    throw new SourceError(
      `${file} holds no checkpoint; give a signed note, or JSON with the note as "checkpoint"`,
    )
  return notes
}

/** A private copy of standard input, because a log is read twice. */
export class Spool {
  readonly file: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.file = join(folder, 'export.jsonl')
  }

  static async read(input: NodeJS.ReadableStream): Promise<Spool> {
    const spool = new Spool(mkdtempSync(join(tmpdir(), 'sidegate-audit-')))
    // The copy may hold personal data and must not outlive the command. The signal is raised again.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        spool.remove()
        process.kill(process.pid, signal)
      })
    }
    try {
      await pipeline(input, createWriteStream(spool.file, { mode: 0o600 }))
      return spool
    } catch (error) {
      spool.remove()
      throw new SourceError(
        `standard input cannot be read or stored (${(error as Error).message}); TMPDIR names the folder of the copy`,
      )
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
