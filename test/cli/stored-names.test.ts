// What a terminal shows of names that an earlier version stored and that no key may have now.

import { join } from 'node:path'
import t from 'tap'
import { answer } from '../../src/cli/dispatch.ts'
import { COMMANDS } from '../../src/program.ts'
import type { Environment } from '../../src/store/environment/journaled.ts'
import { TextSink } from '../process/run-command.ts'
import { openTestStore } from '../store/fixture.ts'

const NAME = 'w\u202ee\u200bb\u001b[2J'

t.test(
  'a terminal shows hidden characters of stored names, and JSON has the names as they are',
  async (t) => {
    const folder = t.testdir({
      data: {},
      'sidegate.yaml': 'upstream: { baseUrl: http://h }\ndata: { path: data }\n',
    })
    const kept: Environment[] = []
    const wrap = (environment: Environment) => {
      kept.push(environment)
      return environment
    }
    const { store } = openTestStore(t, { path: join(folder, 'data'), wrap })
    await store.keys.create('web', 'vera')
    const { keys } = kept[0]!.tables
    await kept[0]!.transaction(() => {
      for (const { key, value } of keys.rows())
        keys.put(key, Buffer.from(JSON.stringify({ ...JSON.parse(String(value)), name: NAME })))
    })
    await store.close()
    const list = async (isTTY: boolean) => {
      const [out, err] = [Object.assign(new TextSink(), { isTTY }), new TextSink()]
      const code = await answer(['keys', 'list', '--config', join(folder, 'sidegate.yaml')], COMMANDS, {
        out,
        err,
        env: {},
      })
      t.equal(code, 0, err.text)
      return out.text
    }
    t.match(await list(true), / {2}w‹202E›e‹200B›b‹001B›\[2J\n$/)
    t.equal(JSON.parse(await list(false)).name, NAME)
  },
)
