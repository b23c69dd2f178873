// An app with a sidecar, as its own process: the official client, configured by its environment.
// Reads calls as lines and writes results as lines; makes the first call at once, without a retry.

import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'

export const APP = fileURLToPath(import.meta.url)

export interface AppCall {
  readonly id: string
  readonly content: string
  readonly stream?: boolean
}

/** `piece` is the first text of a stream, `text` the whole text at its end, `code` an error. */
export interface AppResult {
  readonly id: string
  readonly piece?: string
  readonly text?: string
  readonly code?: string
}

const report = (result: AppResult) => console.log(JSON.stringify(result))

async function call(client: OpenAI, { id, content, stream = false }: AppCall): Promise<void> {
  const body = { model: 'test/model', messages: [{ role: 'user' as const, content }] }
  try {
    if (!stream) {
      const answer = await client.chat.completions.create(body)
      return report({ id, text: answer.choices[0]?.message.content ?? '' })
    }
    let text = ''
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
      const piece = chunk.choices[0]?.delta.content ?? ''
      if (text === '' && piece !== '') report({ id, piece })
      text += piece
    }
    report({ id, text })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    report({ id, code: code ?? message })
  }
}

if (import.meta.main) {
  const client = new OpenAI({ maxRetries: 0 })
  const running = new Set<Promise<void>>()
  const run = (one: AppCall) => {
    const promise = call(client, one).finally(() => running.delete(promise))
    running.add(promise)
  }
  process.on('SIGTERM', () => void Promise.all(running).then(() => process.exit(0)))
  run({ id: 'start', content: 'Hello.' })
  createInterface({ input: process.stdin }).on('line', (line) => run(JSON.parse(line) as AppCall))
}
