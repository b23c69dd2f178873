// Builds the prompts of agents: a conversation of prose, code and tables, sent whole with each
// turn.

import { readFileSync } from 'node:fs'

/** About 1 KB of prose without findings; longer prompts repeat it. */
export const PROSE = [
  'We met on Tuesday with the team from the harbour office to go through the plan for the new ferry terminal.',
  'The engineers explained why the quay has to be rebuilt before winter, and how the crane will be brought in from',
  'the other side of the river. Most of the questions were about parking: where buses will stop, whether bicycles',
  'may use the lower deck, and who pays for the fence along the railway. Anna thinks that the budget is tight but',
  'workable if the steel arrives in March. Two people asked about noise at night, and we promised to send them the',
  'measurements from last year. After lunch we walked along the shore and looked at the old warehouse, which could',
  'become a waiting room with a small kitchen and toilets. Please summarise these notes in five points for the board,',
  'and list the decisions that are still open, each with the person who should prepare it until the meeting in April.',
].join(' ')

/** Length of one message. */
const MESSAGE_CHARACTERS = 2000
const CODE =
  readFileSync(import.meta.filename, 'utf8') + readFileSync(new URL('load.ts', import.meta.url), 'utf8')
const TABLE = JSON.stringify(
  Array.from({ length: 100 }, (_, row) => ({
    id: 10_000 + row,
    name: `berth ${row % 7}`,
    created_at: 1_763_700_000 + row * 61,
    updated: `2026-11-${10 + (row % 9)}T10:0${row % 10}:00Z`,
    depth: (row * 37) % 97,
    price: ((row * 7919) % 10_000) / 100,
    tags: ['a', 'quay', `x${row}`],
    open: row % 3 > 0,
  })),
)

/** Source code and a table in turn, cut to `bytes`. */
export const machineText = (bytes: number): string =>
  (CODE + TABLE).repeat(Math.ceil(bytes / (CODE.length + TABLE.length))).slice(0, bytes)

/** Encodes a number as a word of letters; each number has its own. */
const wordOf = (number: number): string =>
  number.toString(36).replace(/\d/g, (digit) => 'klmnopqrst'[Number(digit)]!)

/** A part of a text as long as a message; neighbouring indexes get different parts. */
const pieceOf = (text: string, index: number): string => {
  const from = (index * 613) % Math.max(1, text.length - MESSAGE_CHARACTERS)
  return text.slice(from, from + MESSAGE_CHARACTERS)
}

function turn(index: number): object[] {
  const call = { id: `call_${wordOf(index)}`, type: 'function' }
  const path = `src/${wordOf(index)}.ts`
  return [
    {
      role: 'assistant',
      content: `I will look at ${path} next.`,
      tool_calls: [{ ...call, function: { name: 'read_file', arguments: JSON.stringify({ path }) } }],
    },
    { role: 'tool', tool_call_id: call.id, content: pieceOf(index % 2 === 0 ? CODE : TABLE, index) },
    { role: 'assistant', content: pieceOf(PROSE.repeat(4), index) },
    { role: 'user', content: pieceOf(PROSE.repeat(3), index).slice(0, 300) },
  ]
}

/**
 * Returns a function that builds the body of a call: one conversation of about `bytes`, with a new
 * last message for each call.
 */
export function conversation(bytes: number): (call: number) => string {
  const messages: object[] = [
    { role: 'system', content: PROSE },
    { role: 'user', content: PROSE.slice(0, 300) },
  ]
  for (let index = 0, size = 0; size < bytes; index++) {
    const more = turn(index)
    messages.push(...more)
    size += JSON.stringify(more).length
  }
  const sent = JSON.stringify({ model: 'bench/model', messages }).slice(0, -2)
  return (call) => `${sent},${JSON.stringify({ role: 'user', content: `Now ${wordOf(call)}: ${PROSE}` })}]}`
}
