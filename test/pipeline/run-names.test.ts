import t from 'tap'
import { RunNames } from '../../src/pipeline/call/run-names.ts'

t.test('a run is named by a text, or by a number as its JSON text', async (t) => {
  const names = new RunNames({ fields: ['metadata.run_id'], headers: ['session_id'] }, 'secret', () => null)
  const read = (id: unknown) => names.read({ metadata: { run_id: id } } as never, {})
  t.equal(read(1234), read('1234'))
  t.not(read(1234), read(1235))
  t.type(read(0), 'string')
  for (const none of ['', null, true, {}, []]) t.equal(read(none), null)
})
