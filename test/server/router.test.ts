import t from 'tap'
import { Router } from '../../src/server/router.ts'

/** Fields an error must have. */
const like = (fields: object) => fields as Error

const router = new Router([
  { method: 'GET', path: '/a', name: 'list' },
  { method: 'POST', path: '/a', name: 'create' },
  { method: 'POST', path: '/a/evaluate', name: 'evaluate' },
  { method: 'DELETE', path: '/a/:id', name: 'delete' },
  { method: 'PATCH', path: '/a/:id', name: 'change' },
  { method: 'GET', path: '/rest/*id', name: 'rest' },
])

t.test('a route is found by its method and path', async (t) => {
  t.equal(router.find('GET', '/a').route.name, 'list')
  t.equal(router.find('POST', '/a/evaluate').route.name, 'evaluate')
  t.same(router.find('DELETE', '/a/x%20y').params, { id: 'x%20y' })
  t.same(router.find('GET', '/rest/x').params, { id: 'x' })
  t.same(router.find('GET', '/rest/x/y//z/').params, { id: 'x/y//z/' })
})

t.test('unknown paths and methods are refused', async (t) => {
  for (const path of ['/', '', '/b', '/a/', '/a/1/2', '//a', '/A', '/rest', '/rest/', '/rest//x']) {
    t.throws(() => router.find('GET', path), like({ code: 'not_found' }), path)
  }
  t.throws(() => router.find('GET', '/a/1'), {
    code: 'method_not_allowed',
    headers: { allow: 'DELETE, PATCH' },
  })
  t.throws(() => router.find('PUT', '/a'), like({ headers: { allow: 'GET, POST' } }))
  t.throws(() => router.find('GET', '/a/evaluate'), like({ headers: { allow: 'POST, DELETE, PATCH' } }))
})
