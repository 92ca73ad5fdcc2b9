/** @module-tag postgres-16-in-soak */
import type { Template, TemplateSummary } from '@waxwing/contract/sending/templates.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'

let app: TestApp
let account: string
let other: string
beforeAll(async () => {
  app = await openTestApp()
  account = (await sampleAccount(app.db, app.tenantId)).id
  other = (await sampleAccount(app.db, app.tenantId)).id
})
afterAll(() => app[Symbol.asyncDispose]())

const UNKNOWN = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'
const CONTENT = {
  subject: 'Hello {{params.name}}',
  html: '<p>Hello {{params.name}}</p>',
  text: 'Hello {{params.name}}',
  previewText: 'News for {{params.name}}',
}

let count = 0
const newName = () => `template ${++count}`

async function create(body: object = {}): Promise<Template> {
  const answer = await app.post<Template>('/v1/templates', { name: newName(), ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

const list = async (query: string) =>
  (await app.get<{ items: TemplateSummary[]; nextCursor: string | null }>(`/v1/templates?${query}`)).body

describe('a template', () => {
  test('is created with defaults, read, changed and deleted', async () => {
    const name = newName()
    const created = await app.post<Template>('/v1/templates', { name, ...CONTENT })
    expect(created).toMatchObject({
      status: 200,
      body: {
        ...CONTENT,
        accountId: null,
        name,
        description: null,
        source: 'handlebars',
        externalRef: null,
        format: 'html',
      },
    })
    const path = `/v1/templates/${created.body.id}`
    expect((await app.get(path)).body).toEqual(created.body)
    const changed = await app.patch<Template>(path, { text: null, description: 'x', format: 'markdown' })
    expect(changed.body).toEqual({
      ...created.body,
      text: null,
      description: 'x',
      format: 'markdown',
      updatedAt: changed.body.updatedAt,
    })
    expect(changed.body.updatedAt > created.body.updatedAt).toBe(true)
    expect((await app.patch(path, { text: null })).body).toEqual(changed.body)
    expect((await app.delete(path)).body).toBeNull()
    expect(await app.get(path)).toMatchObject({ status: 404, body: { code: 'template_not_found' } })
    expect(await app.delete(path)).toMatchObject({ status: 404, body: { code: 'template_not_found' } })
  })

  test('keeps the largest fields, and react-email as it was given', async () => {
    const large = {
      html: '<p>x</p>'.padEnd(1_000_000, '😀'.repeat(10)).slice(0, 1_000_000),
      text: 'x'.repeat(1_000_000),
      subject: '😀'.repeat(2000),
      previewText: 'x'.repeat(2000),
      description: 'x'.repeat(1000),
      source: 'react-email',
      externalRef: 'x'.repeat(255),
    }
    const created = await create({ name: `${newName()} `.padEnd(255, 'x'), ...large })
    expect(created).toMatchObject(large)
  })

  test.each<[string, object]>([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a longer name', { name: 'x'.repeat(256) }],
    ['a name that is null', { name: null }],
    ['a longer subject', { subject: 'x'.repeat(2001) }],
    ['longer HTML', { html: 'x'.repeat(1_000_001) }],
    ['a longer text', { text: 'x'.repeat(1_000_001) }],
    ['a longer preview', { previewText: 'x'.repeat(2001) }],
    ['an unknown format', { format: 'mjml' }],
    ['an unknown source', { source: 'mjml' }],
    ['a malformed account', { accountId: 'x' }],
    ['a field that there is not', { body: 'x' }],
    ['a syntax tree in place of a text', { html: { type: 'Program', body: [] } }],
    ['a list in place of a text', { subject: ['x'] }],
  ])('is refused with %s', async (_, body) => {
    const [field] = Object.keys(body)
    const answer = await app.post<{ code: string; data: { issues: Array<{ path: string[] }> } }>(
      '/v1/templates',
      {
        name: newName(),
        ...body,
      },
    )
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    expect(answer.body.data.issues.map(({ path }) => path[0])).toContain(field)
  })

  test.each(['subject', 'html', 'text', 'previewText'] as const)(
    'is refused if its %s does not compile',
    async field => {
      const { id } = await create()
      for (const source of ['{{#each', '{{> x}}', '{{#*inline "x"}}{{/inline}}', '{{shout params.x}}']) {
        const refused = { status: 400, body: { code: 'invalid_template', data: { field } } }
        expect(
          await app.post('/v1/templates', { name: newName(), ...CONTENT, [field]: source }),
        ).toMatchObject(refused)
        expect(await app.patch(`/v1/templates/${id}`, { [field]: source })).toMatchObject(refused)
      }
    },
  )

  test('has a name of its own among the shared ones, and in each account', async () => {
    const name = newName()
    const taken = { status: 409, body: { code: 'template_name_taken' } }
    await create({ name })
    expect(await app.post('/v1/templates', { name })).toMatchObject(taken)
    const own = await create({ name, accountId: account })
    expect(await app.post('/v1/templates', { name, accountId: account })).toMatchObject(taken)
    await create({ name, accountId: other })
    const renamed = await create({ accountId: account })
    expect(await app.patch(`/v1/templates/${renamed.id}`, { name })).toMatchObject(taken)
    expect(await app.patch(`/v1/templates/${own.id}`, { name })).toMatchObject({ status: 200, body: own })
    const tenant = await app.createTenant(newName())
    expect((await tenant.post('/v1/templates', { name })).status).toBe(200)
  })

  test('whose name is asked for twice at the same time is created once', async () => {
    for (let round = 0; round < 10; round++) {
      const name = newName()
      const answers = await Promise.all(
        [1, 2, 3].map(() => app.post('/v1/templates', { name, accountId: account })),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
      const [first, second] = [await create(), await create()]
      const renamed = newName()
      const renames = await Promise.all(
        [first, second].map(({ id }) => app.patch(`/v1/templates/${id}`, { name: renamed })),
      )
      expect(renames.map(({ status }) => status).toSorted()).toEqual([200, 409])
    }
  })

  test('belongs to an account of the tenant', async () => {
    const tenant = await app.createTenant(newName())
    const { id: theirs } = await sampleAccount(app.db, tenant.tenantId)
    const { id: deleted } = await sampleAccount(app.db, app.tenantId)
    await app.delete(`/v1/accounts/${deleted}`)
    for (const accountId of [UNKNOWN, theirs, deleted])
      expect(await app.post('/v1/templates', { name: newName(), accountId })).toMatchObject({
        status: 422,
        body: { code: 'unknown_account', data: { ids: [accountId] } },
      })
    const { id } = await create()
    expect(await tenant.get(`/v1/templates/${id}`)).toMatchObject({ status: 404 })
    expect(await tenant.patch(`/v1/templates/${id}`, { name: 'x' })).toMatchObject({ status: 404 })
    expect(await tenant.delete(`/v1/templates/${id}`)).toMatchObject({ status: 404 })
    expect(await app.get('/v1/templates/x')).toMatchObject({
      status: 404,
      body: { code: 'template_not_found' },
    })
    expect(await app.patch(`/v1/templates/${id}`, { accountId: account })).toMatchObject({ status: 400 })
  })

  test('of an account goes with its purge; shared ones stay', async () => {
    const { id: purged } = await sampleAccount(app.db, app.tenantId)
    const own = await create({ accountId: purged })
    const shared = await create()
    await purgeSending(app.db, purged, new AbortController().signal)
    expect((await app.get(`/v1/templates/${own.id}`)).status).toBe(404)
    expect((await app.get(`/v1/templates/${shared.id}`)).status).toBe(200)
  })

  test('is out of reach of a key that is bound to accounts', async () => {
    const key = await app.createKey({ accountIds: [account] })
    const bound = app.as(key.text)
    for (const answer of [await bound.get('/v1/templates'), await bound.post('/v1/template-renders', {})])
      expect(answer).toMatchObject({ status: 403, body: { code: 'account_scope_forbidden' } })
  })
})

describe('the list of templates', () => {
  test('is filtered by account, use and name, newest first, without content', async () => {
    const mark = newName()
    const shared = await create({ name: `${mark} Shared_100%` })
    const own = await create({ name: `${mark} own`, accountId: account })
    const theirs = await create({ name: `${mark} theirs`, accountId: other })
    const namesOf = async (query: string) =>
      (await list(`query=${encodeURIComponent(mark)}&${query}`)).items.map(({ id }) => id)
    expect(await namesOf('')).toEqual([theirs.id, own.id, shared.id])
    expect(await namesOf(`accountId=${account}`)).toEqual([own.id])
    expect(await namesOf(`usableBy=${account}`)).toEqual([own.id, shared.id])
    expect(await namesOf(`usableBy=${account}&accountId=${other}`)).toEqual([])
    expect(await namesOf(`accountId=${UNKNOWN}`)).toEqual([])
    expect((await list(`name=${encodeURIComponent(own.name)}`)).items.map(({ id }) => id)).toEqual([own.id])
    expect((await list(`query=${encodeURIComponent('sHARED_100%')}`)).items.map(({ id }) => id)).toEqual([
      shared.id,
    ])
    expect((await list(`query=${encodeURIComponent('shared%100')}`)).items).toEqual([])
    const [summary] = (await list(`name=${encodeURIComponent(own.name)}`)).items
    expect(Object.keys(summary!).toSorted()).toEqual(
      [
        'accountId',
        'createdAt',
        'description',
        'externalRef',
        'id',
        'name',
        'source',
        'updatedAt',
      ].toSorted(),
    )
  })

  test('is read in pages whose cursor belongs to the filters', async () => {
    const mark = newName()
    const created: string[] = []
    for (let at = 0; at < 5; at++) created.unshift((await create({ name: `${mark} ${at}` })).id)
    const query = `query=${encodeURIComponent(mark)}`
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page = await list(`${query}&limit=2${cursor === null ? '' : `&cursor=${cursor}`}`)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
      if (cursor !== null && seen.length === 2)
        expect(await app.get(`/v1/templates?cursor=${cursor}`)).toMatchObject({
          body: { code: 'invalid_cursor' },
        })
    } while (cursor !== null)
    expect(seen).toEqual(created)
  })
})
