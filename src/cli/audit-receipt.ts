// `sidegate audit verify --receipt`: verifies the signed receipt of a call, without a configuration
// and without the log.

import { createReadStream } from 'node:fs'
import { MAX_RECEIPT_BYTES } from '../audit/receipt-fields.ts'
import { type ReceiptVerdict, verifyReceipt } from '../audit/receipt-verify.ts'
import type { TrustedKey } from '../audit/survey.ts'
import { SourceError } from '../store/verification/log-source.ts'
import type { ExitCode } from './command.ts'

/**
 * Verifies the receipt in a file and prints the result of each step.
 * @param file `-` for standard input
 * @throws SourceError (rejects) when it cannot be read
 */
export async function verifyReceiptFile(
  file: string,
  keys: readonly TrustedKey[],
  format: 'pretty' | 'json',
): Promise<ExitCode> {
  const verdict = verifyReceipt(await readBounded(file), keys)
  console.log(format === 'json' ? JSON.stringify(verdict) : receiptText(verdict))
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
      if (bytes > MAX_RECEIPT_BYTES) break
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
