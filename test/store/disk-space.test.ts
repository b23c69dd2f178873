import { constants } from 'node:os'
import t from 'tap'
import { isDiskFull } from '../../src/store/files/disk-space.ts'

t.test('a full disk is known by the name and by the number of its error', async (t) => {
  for (const code of ['ENOSPC', constants.errno.ENOSPC])
    t.ok(isDiskFull(Object.assign(new Error(), { code })))
  for (const error of [
    Object.assign(new Error(), { code: 'EIO' }),
    new Error('no code'),
    'text',
    null,
    undefined,
  ])
    t.notOk(isDiskFull(error))
})
