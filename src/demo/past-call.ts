// Writes a call of the demo's past hour as the body of its API.

import type { JsonObject } from '../core/json.ts'
import type { AppCall } from './past-apps.ts'

/** A call with what it names. */
export interface PastCall extends AppCall {
  /** Milliseconds from the start of the hour. */
  readonly atMs: number
  /** Name of its key. */
  readonly app: string
  readonly user?: string
  readonly run?: string
}

/** Room above the tokens of the answer that a call asks for. */
const SPARE_TOKENS = 200

const PARAMETERS = { type: 'object', properties: { subject: { type: 'string' } } }

/** The path and the body of each API. */
const FORMS: Readonly<Record<AppCall['api'], readonly [path: string, body: (call: PastCall) => JsonObject]>> =
  {
    chat: [
      '/v1/chat/completions',
      (call) => ({
        messages: [...(call.system === undefined ? [] : [said(call.system, 'system')]), said(call.say)],
        max_tokens: maximumTokens(call),
        ...(call.user !== undefined && { user: call.user }),
        ...(call.tools !== undefined && {
          tools: call.tools.map((name) => ({ type: 'function', function: { name, parameters: PARAMETERS } })),
          tool_choice: call.answer === undefined ? chosen(call.tools) : 'none',
        }),
      }),
    ],
    messages: ['/v1/messages', (call) => ({ messages: [said(call.say)], max_tokens: maximumTokens(call) })],
    responses: [
      '/v1/responses',
      (call) => ({
        input: call.say,
        max_output_tokens: maximumTokens(call),
        ...(call.user !== undefined && { safety_identifier: call.user }),
      }),
    ],
    embeddings: ['/v1/embeddings', (call) => ({ input: [call.say] })],
  }

const said = (content: string, role = 'user'): JsonObject => ({ role, content })

const maximumTokens = ({ tokens: [, answer] }: AppCall): number => answer + SPARE_TOKENS

const chosen = ([name = '']: readonly string[]): JsonObject => ({ type: 'function', function: { name } })

/**
 * Makes a call and reads its answer to the end, also that of a call that is refused.
 * @param baseUrl of the gateway
 */
export async function makeCall(baseUrl: string, key: string, call: PastCall): Promise<void> {
  const [path, form] = FORMS[call.api]
  const body = { model: call.model, ...form(call), ...(call.stream && { stream: true }) }
  const answer = await fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(call.run !== undefined && { 'x-sidegate-run': call.run }),
    },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
}
