import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { METHODS } from '../../src/calendar/api/methods.ts'
import { CALENDAR, ENTRY, EVENT, SHAPES } from '../../src/calendar/api/shapes.ts'

const require = createRequire(import.meta.url)
const CLIENT = require.resolve('@googleapis/calendar').replace(/index\.js$/, 'v3')
const [code, declarations] = await Promise.all([
  readFile(`${CLIENT}.js`, 'utf8'),
  readFile(`${CLIENT}.d.ts`, 'utf8'),
])

/** Verb and path of each method that Google's own client calls, by its id in lower case. */
function publishedRoutes(): Map<string, string> {
  const routes = new Map<string, string>()
  for (const [, resource = '', methods = ''] of code.matchAll(
    /class Resource\$(\w+) \{(.*?)(?=class Resource|$)/gs,
  ))
    for (const [, name = '', body = ''] of methods.matchAll(/^ {8}(\w+)\(params(.*?)^ {8}\}/gms)) {
      const path = /\/calendar\/v3\/([^']+)'/.exec(body)?.[1]
      const verb = /method: '([A-Z]+)'/.exec(body)?.[1]
      routes.set(`${resource}.${name}`.toLowerCase(), `${verb} ${path}`)
    }
  return routes
}

/** The scopes of each method in the examples of Google's own client. */
function publishedScopes(): Map<string, string[]> {
  const scopes = new Map<string, string[]>()
  for (const [, list = '', id = ''] of declarations.matchAll(
    /scopes: \[(.*?)\],\s*\*\s+\}\);.*?calendar\.(\w+\.\w+)\(/gs,
  ))
    scopes.set(id, [...list.matchAll(/'(https:[^']+)'/g)].map(([, scope = '']) => scope).toSorted())
  return scopes
}

/** The names in a type of Google's own client, in the order of the alphabet. */
function publishedFields(type: string): string[] {
  const [, body = ''] =
    new RegExp(`interface ${type.replaceAll('$', String.raw`\$`)}\\b[^{]*\\{(.*?)^ {4}\\}`, 'ms').exec(
      declarations,
    ) ?? []
  return [...body.matchAll(/^ {8}(\w+)\?:/gm)].map(([, field = '']) => field).toSorted()
}

test("has the verbs and paths of Google's own client", () => {
  const published = publishedRoutes()
  expect(published.size).toBeGreaterThan(30)
  for (const { id, http, path } of METHODS)
    expect([id, `${http} ${path}`]).toEqual([id, published.get(id.toLowerCase())])
})

test("opens each method to the scopes that Google's own client names for it, and to no others", () => {
  const published = publishedScopes()
  expect(published.size).toBeGreaterThan(30)
  for (const { id, scopes } of METHODS) expect([id, scopes.toSorted()]).toEqual([id, published.get(id)])
})

test.each([
  ['Schema$Event', EVENT],
  ['Schema$Calendar', CALENDAR],
  ['Schema$CalendarListEntry', ENTRY],
  ['Schema$Channel', SHAPES.channel],
  ['Schema$FreeBusyRequest', SHAPES.freeBusyRequest],
  ['Schema$Events', SHAPES.events],
])('takes the fields of %s that Google publishes', (type, shape) => {
  expect(Object.keys(shape).toSorted()).toEqual(publishedFields(type))
})

test("takes the parameters of Google's own client", () => {
  for (const { id, query = [], path } of METHODS) {
    const [resource = '', name = ''] = id.split('.').map(word => word.charAt(0).toUpperCase() + word.slice(1))
    const type = `Params$Resource$${resource === 'CalendarList' ? 'Calendarlist' : resource}$${name}`
    const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part))
    const published = publishedFields(type).filter(field => field !== 'requestBody' && !inPath.has(field))
    expect([id, query.toSorted()]).toEqual([id, published])
  }
})
