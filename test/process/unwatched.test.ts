// A machine without free inotify instances, made by a user namespace that allows none.

import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prompt } from './gateway.ts'
import { deployProgram } from './gateway-process.ts'
import { eventually, until } from './until.ts'

const NO_INSTANCES = 'echo 0 > /proc/sys/user/max_inotify_instances'
const UNDER = ['unshare', '-Ur', 'sh', '-c', `${NO_INSTANCES} && exec "$@"`, 'sh']
/** Limit for a change: 1 s by contract, more on a busy machine, and less than the poll of 30 s. */
const SOON_MS = 20_000

const rule = (word: string) =>
  `rules:\n  - { name: word, type: keyword_block, pattern: ${word}, action: block }\n`

t.test('without inotify instances every change takes effect soon, and a line says why', async (t) => {
  if (spawnSync(UNDER[0]!, [...UNDER.slice(1), 'true']).status !== 0) {
    t.pass('inotify', { skip: 'NOT TESTED: a user namespace cannot be made here' })
    return
  }
  const { gateway, key } = await deployProgram(t, undefined, { under: UNDER, rules: rule('alpha') })
  await until('the line', () => gateway.logs.some(({ reason }) => reason === 'EMFILE'))
  const line = gateway.logs.find(({ reason }) => reason === 'EMFILE')
  t.match(line, { level: 'warn', msg: /cannot be watched.*max_user_instances/ })
  const blocks = (word: string) =>
    eventually(
      word,
      async () => (await gateway.chat(key, prompt(`about ${word}`))).status,
      (status) => status === 403,
      SOON_MS,
    )
  await blocks('alpha')
  const file = join(gateway.folder, 'rules/rules.yaml')
  writeFileSync(file, rule('beta'))
  await blocks('beta')
  writeFileSync(`${file}~`, rule('gamma'))
  renameSync(`${file}~`, file)
  await blocks('gamma')
  for (const word of ['delta', 'epsilon']) {
    mkdirSync(join(gateway.folder, word))
    writeFileSync(join(gateway.folder, word, 'r.yaml'), rule(word))
  }
  symlinkSync('delta', join(gateway.folder, 'current'))
  symlinkSync('../current/r.yaml', join(gateway.folder, 'rules/link.yaml~'))
  renameSync(join(gateway.folder, 'rules/link.yaml~'), file)
  await blocks('delta')
  symlinkSync('epsilon', join(gateway.folder, 'next'))
  renameSync(join(gateway.folder, 'next'), join(gateway.folder, 'current'))
  await blocks('epsilon')
  const unwatched = gateway.logs.filter(({ reason }) => reason === 'EMFILE').map(({ msg }) => String(msg))
  t.match(unwatched.sort(), [/^the configuration file cannot/, /^the rule files cannot/], 'one line for each')
  t.equal(unwatched.length, 2)
})
