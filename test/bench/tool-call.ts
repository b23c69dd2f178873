// A call of an agent: it defines tools, and the answer calls one with long arguments.

import { PROSE } from './conversation.ts'

/** Length of the arguments of the call, bytes of JSON. */
const ARGUMENT_BYTES = 2048
/** Calls of one run of an agent. */
const CALLS_PER_RUN = 20

const SCRIPT = `set -e
cd /srv/app && git fetch origin && git status --short
for file in $(git diff --name-only origin/main | grep '\\.ts$'); do
  npx biome check "$file" || echo "failed: $file" >> /tmp/report.txt
done
`

/** The arguments that the answer has, and the name of the tool that it calls. */
export const CALLED = { name: 'bash', arguments: argumentsOf(ARGUMENT_BYTES) }

function argumentsOf(bytes: number): string {
  const whole = (command: string) => JSON.stringify({ command, timeout: 60 })
  const text = SCRIPT.repeat(Math.ceil(bytes / SCRIPT.length))
  let length = text.length
  while (Buffer.byteLength(whole(text.slice(0, length))) > bytes) length--
  return whole(text.slice(0, length))
}

const tool = (name: string, description: string, ...members: string[]) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(members.map((member) => [member, { type: 'string' }])),
      required: members,
    },
  },
})

const TOOLS = [
  tool('bash', 'Runs a command in the working folder and returns its output.', 'command', 'timeout'),
  tool('shell_run', 'Runs a command as another user.', 'command', 'user'),
  tool('read_file', 'Returns the lines of a file.', 'path', 'range'),
  tool('edit_file', 'Replaces a text in a file that occurs once.', 'path', 'from', 'to'),
  tool('list_files', 'Lists the files below a folder.', 'path', 'glob'),
  tool('search_code', 'Finds lines that match an expression.', 'pattern', 'path'),
  tool('web_fetch', 'Returns the text of a page.', 'url'),
  tool('send_mail', 'Sends a message to a colleague.', 'to', 'subject', 'text'),
]

const FETCHED = { name: 'web_fetch', arguments: '{"url":"https://example.com/notes"}' }

let calls = 0

/** Body of the next call. */
export function toolCallBody(): string {
  const run_id = `run-${Math.floor(calls++ / CALLS_PER_RUN)}`
  const fetched = { id: 'call_0', type: 'function', function: FETCHED }
  return JSON.stringify({
    model: 'bench/model',
    tools: TOOLS,
    metadata: { run_id },
    messages: [
      { role: 'system', content: 'You work in a repository, step by step.' },
      { role: 'user', content: PROSE.slice(0, 512) },
      { role: 'assistant', content: null, tool_calls: [fetched] },
      { role: 'tool', tool_call_id: 'call_0', content: PROSE.slice(512) },
    ],
  })
}
