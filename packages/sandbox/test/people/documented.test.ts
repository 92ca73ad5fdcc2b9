import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { METHODS } from '../../src/people/api/methods.ts'
import { PERSON, READABLE, WRITABLE } from '../../src/people/person-fields.ts'

const require = createRequire(import.meta.url)
const CLIENT = require.resolve('@googleapis/people').replace(/index\.js$/, 'v1')
const [code, declarations] = await Promise.all([
  readFile(`${CLIENT}.js`, 'utf8'),
  readFile(`${CLIENT}.d.ts`, 'utf8'),
])

/** Verb and path of each method that Google's own client calls, by its id. */
function publishedRoutes(): Map<string, string> {
  const routes = new Map<string, string>()
  for (const [, resource = '', methods = ''] of code.matchAll(
    /class Resource\$People(\S*) \{(.*?)(?=class Resource|$)/gs,
  )) {
    const prefix = resource.replaceAll('$', '.').slice(1).toLowerCase()
    for (const [, name = '', path = '', verb = ''] of methods.matchAll(
      /^ {8}(\w+)\(params.*?rootUrl \+ '\/v1\/([^']+)'.*?method: '([A-Z]+)'/gms,
    ))
      routes.set([prefix, name].filter(Boolean).join('.'), `${verb} ${path}`)
  }
  return routes
}

/** The scopes of each method in the examples of Google's own client. */
function publishedScopes(): Map<string, string[]> {
  const scopes = new Map<string, string[]>()
  for (const [, list = '', id = ''] of declarations.matchAll(
    /scopes: \[(.*?)\],\s*\*\s+\}\);.*?people\.people\.([\w.]+)\(/gs,
  ))
    scopes.set(id, [...list.matchAll(/'(https:[^']+)'/g)].map(([, scope = '']) => scope).toSorted())
  return scopes
}

/** The fields of an object in the types of Google's own client. */
function publishedFields(name: string): string[] {
  const [, body = ''] =
    new RegExp(`interface Schema\\$${name} \\{(.*?)^ {4}\\}`, 'ms').exec(declarations) ?? []
  return [...body.matchAll(/^ {8}(\w+)\?:/gm)].map(([, field = '']) => field)
}

test("has the verbs and paths of Google's own client", () => {
  const published = publishedRoutes()
  expect(published.size).toBeGreaterThan(10)
  const ours = METHODS.map(({ id, http, path }) => [id, `${http} ${path}`])
  expect(ours).toEqual(METHODS.map(({ id }) => [id, published.get(id)]))
})

test("opens each method to the scopes that Google's own client names for it, and to no others", () => {
  const published = publishedScopes()
  expect(published.size).toBeGreaterThan(10)
  const ours = METHODS.map(({ id, scopes }) => [id, [...scopes].toSorted()])
  expect(ours).toEqual(METHODS.map(({ id }) => [id, published.get(id)]))
})

test.each([
  ['biographies', 'Biography'],
  ['birthdays', 'Birthday'],
  ['clientData', 'ClientData'],
  ['emailAddresses', 'EmailAddress'],
  ['memberships', 'Membership'],
  ['names', 'Name'],
  ['nicknames', 'Nickname'],
  ['organizations', 'Organization'],
  ['phoneNumbers', 'PhoneNumber'],
  ['photos', 'Photo'],
  ['metadata', 'PersonMetadata'],
])('takes the fields of %s that Google publishes', (field, name) => {
  const shape = PERSON[field]
  expect(shape === true ? [] : Object.keys(shape ?? {}).toSorted()).toEqual(publishedFields(name).toSorted())
})

test('reads and writes the fields of masks that Google documents', () => {
  const maskOf = (parameter: string) => {
    const [, list = ''] =
      new RegExp(`Valid values are: ([^.]*?)\\n\\s*\\*/\\s*${parameter}\\?: string;`).exec(declarations) ?? []
    return list
      .split('*')
      .map(word => word.trim())
      .filter(Boolean)
      .toSorted()
  }
  expect([...READABLE].filter(name => name !== 'fileAses').toSorted()).toEqual(maskOf('personFields'))
  expect(
    Object.keys(WRITABLE)
      .filter(name => name !== 'fileAses')
      .toSorted(),
  ).toEqual(maskOf('updatePersonFields'))
})
