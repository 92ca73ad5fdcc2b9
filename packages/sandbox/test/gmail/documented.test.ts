import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { METHODS } from '../../src/gmail/api/methods.ts'

const require = createRequire(import.meta.url)
const CLIENT = require.resolve('@googleapis/gmail').replace(/index\.js$/, 'v1')
const [code, declarations] = await Promise.all([
  readFile(`${CLIENT}.js`, 'utf8'),
  readFile(`${CLIENT}.d.ts`, 'utf8'),
])

/** Verb and path of each method that Google's own client calls, by its id in lower case. */
function publishedRoutes(): Map<string, string> {
  const routes = new Map<string, string>()
  for (const [, resource = '', methods = ''] of code.matchAll(
    /class Resource\$Users(\S*) \{(.*?)(?=class Resource|$)/gs,
  )) {
    const prefix = resource.replaceAll('$', '.').slice(1)
    for (const [, name = '', path = '', verb = ''] of methods.matchAll(
      /^ {8}(\w+)\(params.*?users\/\{userId\}\/([^']+)'.*?method: '([A-Z]+)'/gms,
    ))
      routes.set([prefix, name].filter(Boolean).join('.').toLowerCase(), `${verb} ${path}`)
  }
  return routes
}

/** The scopes of each method in the examples of Google's own client. Scopes of add-ons are left out. */
function publishedScopes(): Map<string, string[]> {
  const scopes = new Map<string, string[]>()
  for (const [, list = '', id = ''] of declarations.matchAll(
    /scopes: \[(.*?)\],\s*\*\s+\}\);.*?gmail\.users\.([\w.]+)\(/gs,
  )) {
    const all = [...list.matchAll(/'(https:[^']+)'/g)].map(([, scope = '']) => scope)
    scopes.set(id, all.filter(scope => !scope.includes('.addons.')).toSorted())
  }
  return scopes
}

test("has the verbs and paths of Google's own client", () => {
  const published = publishedRoutes()
  expect(published.size).toBeGreaterThan(70)
  const ours = METHODS.map(({ id, http, path }) => [id, `${http} ${path}`])
  expect(ours).toEqual(METHODS.map(({ id }) => [id, published.get(id.toLowerCase())]))
})

test("opens each method to the scopes that Google's own client names for it, and to no others", () => {
  const published = publishedScopes()
  expect(published.size).toBeGreaterThan(70)
  const ours = METHODS.map(({ id, scopes }) => [id, [...scopes].toSorted()])
  expect(ours).toEqual(METHODS.map(({ id }) => [id, published.get(id)]))
})
