import type { Identity } from '@waxwing/contract/mail/identities.ts'
import { describe, expect, test } from 'vitest'
import type { TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const { newTenant } = useTestApp()

interface Listed {
  items: Identity[]
  refreshedAt: string | null
}

type Refused = { code: string; data?: { issues: Array<{ path: string[]; message: string }> } }

/** An account of Ada's, and the path of its identities. */
async function openIdentities(app: TestTenant, values: Parameters<typeof sampleAccount>[2] = {}) {
  const email = 'Ada@Example.com'
  const { id } = await sampleAccount(app.db, app.tenantId, { email, display_name: 'Ada', ...values })
  const path = `/v1/accounts/${id}/identities`
  return {
    accountId: id,
    path,
    list: async () => (await app.get<Listed>(path)).body.items,
    create: (body: Record<string, unknown>) => app.post<Identity & Refused>(path, body),
  }
}

describe('GET /v1/accounts/{accountId}/identities', () => {
  test('shows the address of the account, then the added ones, oldest first', async () => {
    const app = await newTenant()
    const { accountId, path, create } = await openIdentities(app)
    const sales = await create({ address: 'sales@example.com', name: 'Sales' })
    const idn = await create({ address: 'Info@Bücher.example', signature: { text: 'Bücher' } })

    expect(await app.get(path)).toMatchObject({
      status: 200,
      body: {
        items: [
          {
            id: accountId,
            name: 'Ada',
            address: 'Ada@Example.com',
            source: 'primary',
            signature: null,
            providerSignature: null,
          },
          sales.body,
          idn.body,
        ],
        refreshedAt: null,
      },
    })
    expect(sales.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Sales',
      address: 'sales@example.com',
      source: 'custom',
      signature: null,
      providerSignature: null,
    })
    expect(idn.body).toMatchObject({
      name: null,
      address: 'Info@Bücher.example',
      signature: { html: null, text: 'Bücher' },
    })
    expect((await app.get(`${path}?refresh=true`)).body).toEqual((await app.get(path)).body)
    expect(await app.get(`${path}?refresh=yes`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['refresh'] }] } },
    })
  })

  test.each(['paused', 'disabled', 'reauth_required'] as const)(
    'works, as the changes do, while the account is %s',
    async status => {
      const app = await newTenant()
      const { path, list, create, accountId } = await openIdentities(app, { status })
      const { body } = await create({ address: 'sales@example.com' })
      await app.patch(`${path}/${accountId}`, { signature: { text: 'Ada' } })
      await app.patch(`${path}/${body.id}`, { name: 'Sales' })
      expect(await list()).toMatchObject([{ signature: { text: 'Ada' } }, { name: 'Sales' }])
      expect(await app.delete(`${path}/${body.id}`)).toMatchObject({ status: 200, body: null })
      expect(await list()).toHaveLength(1)
    },
  )
})

describe('POST /v1/accounts/{accountId}/identities', () => {
  test.each([
    ['the address of the account', 'ada@example.COM'],
    ['an added one', 'SALES@example.com'],
    ['an added one whose domain is in A-labels', 'info@xn--bcher-kva.example'],
    ['an added one whose domain is in another case', 'INFO@BÜCHER.EXAMPLE'],
  ])('refuses %s as one that exists', async (_, address) => {
    const app = await newTenant()
    const { list, create } = await openIdentities(app)
    await create({ address: 'sales@example.com' })
    await create({ address: 'info@bücher.example' })
    expect(await create({ address })).toMatchObject({ status: 409, body: { code: 'identity_exists' } })
    expect(await list()).toHaveLength(3)
  })

  test('takes tags and dots as written, and the same address on another account', async () => {
    const app = await newTenant()
    const { list, create } = await openIdentities(app)
    const other = await openIdentities(app, { email: 'grace@example.com' })
    for (const address of [
      'ada+x@example.com',
      'a.da@example.com',
      "o'brien_1@sub.example.co",
      'zoë@example.com',
    ])
      expect((await create({ address })).status).toBe(200)
    expect(await list()).toHaveLength(5)
    expect((await other.create({ address: 'ada+x@example.com' })).status).toBe(200)
  })

  const long = 'x'.repeat(257)
  const wrong: Array<[Record<string, unknown>, string[]]> = [
    [{}, ['address']],
    [{ address: null }, ['address']],
    [{ address: 'ada' }, ['address']],
    [{ address: 'ada@' }, ['address']],
    [{ address: '@example.com' }, ['address']],
    [{ address: 'ada@localhost' }, ['address']],
    [{ address: 'ada@127.0.0.1' }, ['address']],
    [{ address: 'ada@[127.0.0.1]' }, ['address']],
    [{ address: 'ada@0x7f.1' }, ['address']],
    [{ address: 'ada@-a.example' }, ['address']],
    [{ address: 'ada@example.com.' }, ['address']],
    [{ address: 'ada@exam_ple.com' }, ['address']],
    [{ address: 'ada@example.com/x' }, ['address']],
    [{ address: 'a..da@example.com' }, ['address']],
    [{ address: '.ada@example.com' }, ['address']],
    [{ address: '"ada"@example.com' }, ['address']],
    [{ address: 'ada (me)@example.com' }, ['address']],
    [{ address: 'Ada <ada@example.com>' }, ['address']],
    [{ address: 'ada@example.com, grace@example.com' }, ['address']],
    [{ address: 'ada@example.com\r\nBcc: eve@example.com' }, ['address']],
    [{ address: 'ada\n@example.com' }, ['address']],
    [{ address: 'ada\u00a0x@example.com' }, ['address']],
    [{ address: 'ada\u202e@example.com' }, ['address']],
    [{ address: `${'x'.repeat(65)}@example.com` }, ['address']],
    [{ address: `${'é'.repeat(33)}@example.com` }, ['address']],
    [{ address: `x@${'a.'.repeat(160)}com` }, ['address']],
    [{ address: 'a@example.com', name: long }, ['name']],
    [{ address: 'a@example.com', name: 'Ada\r\nBcc: eve@example.com' }, ['name']],
    [{ address: 'a@example.com', name: 'Ada\0' }, ['name']],
    [{ address: 'a@example.com', name: 'Ada\u0085' }, ['name']],
    [{ address: 'a@example.com', signature: 'Ada' }, ['signature']],
    [{ address: 'a@example.com', signature: { text: 'x'.repeat(100_001) } }, ['signature', 'text']],
    [{ address: 'a@example.com', signature: { html: 'Ada\0' } }, ['signature', 'html']],
    [{ address: 'a@example.com', signature: { text: 'Ada', rtf: 'Ada' } }, ['signature', 'rtf']],
    [{ address: 'a@example.com', source: 'primary' }, ['source']],
  ]
  const cases = wrong.map(([body, path]) => ({ body, path, shown: JSON.stringify(body).slice(0, 60) }))
  test.each(cases)('refuses $shown by the path of the wrong field', async ({ body, path }) => {
    const app = await newTenant()
    const { list, create } = await openIdentities(app)
    const answer = await create(body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    expect(answer.body.data?.issues.map(issue => issue.path)).toContainEqual(path)
    expect(await list()).toHaveLength(1)
  })

  test('counts characters by code points, and takes an empty name or signature for none', async () => {
    const app = await newTenant()
    const { create } = await openIdentities(app)
    const answers = await Promise.all([
      create({ address: 'a@example.com', name: '👋'.repeat(256), signature: { text: '👋'.repeat(100_000) } }),
      create({ address: 'b@example.com', name: '', signature: { html: '', text: null } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1].body).toMatchObject({ name: null, signature: null })
  })

  test('lets one of two concurrent requests have the last place', async () => {
    const app = await newTenant()
    const { list, create } = await openIdentities(app)
    // The service takes 16 requests of a key at once.
    const nth = (n: number) => create({ address: `alias-${n}@example.com` })
    for (let from = 0; from < 96; from += 12)
      await Promise.all(Array.from({ length: 12 }, (_, n) => nth(from + n)))
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => nth(96 + n)))

    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(8)
    for (const { status, body } of refused) {
      expect(status).toBe(400)
      expect(body).toMatchObject({ code: 'invalid_input', data: { issues: [{ path: [] }] } })
    }
    expect(await list()).toHaveLength(101)
    expect((await create({ address: 'alias-1@example.com' })).body.code).toBe('identity_exists')
  })

  test('adds an address once, even if several requests add it at the same time', async () => {
    const app = await newTenant()
    const { list, create } = await openIdentities(app)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => create({ address: 'sales@example.com' })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(7).fill(409)])
    expect(await list()).toHaveLength(2)
  })

  test('bounds the size of all signatures of an account together', async () => {
    const app = await newTenant()
    const { path, list, create, accountId } = await openIdentities(app)
    const large = { html: 'é'.repeat(100_000), text: 'é'.repeat(100_000) }
    // 400,000 bytes each.
    for (let n = 0; n < 26; n += 1)
      expect((await create({ address: `${n}@example.com`, signature: large })).status).toBe(200)
    const refused = {
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['signature'] }] } },
    }
    expect(await create({ address: 'over@example.com', signature: large })).toMatchObject(refused)
    expect(await app.patch(`${path}/${accountId}`, { signature: large })).toMatchObject(refused)
    const [, first] = await list()
    expect((await app.patch(`${path}/${first?.id}`, { signature: large })).status).toBe(200)
    await app.patch(`${path}/${first?.id}`, { signature: null })
    expect((await create({ address: 'over@example.com', signature: large })).status).toBe(200)
  })

  test('answers a repeated Idempotency-Key alike, and adds nothing', async () => {
    const app = await newTenant()
    const { path, list } = await openIdentities(app)
    const post = async () => {
      const answer = await fetch(app.address + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'add-sales',
        },
        body: JSON.stringify({ address: 'sales@example.com' }),
      })
      return { replayed: answer.headers.get('idempotent-replayed'), body: await answer.json() }
    }
    const first = await post()
    expect(first).toMatchObject({ replayed: null, body: { address: 'sales@example.com' } })
    expect(await post()).toEqual({ replayed: 'true', body: first.body })
    expect(await list()).toHaveLength(2)
  })
})

describe('PATCH /v1/accounts/{accountId}/identities/{identityId}', () => {
  test('changes the given fields, and replaces a signature as a whole', async () => {
    const app = await newTenant()
    const { path, list, create } = await openIdentities(app)
    const { body: sales } = await create({ address: 'sales@example.com', name: 'Sales' })
    const patch = async (body: unknown) => (await app.patch(`${path}/${sales.id.toUpperCase()}`, body)).body

    expect(await patch({ signature: { html: '<b>S</b>', text: 'S' } })).toEqual({
      ...sales,
      signature: { html: '<b>S</b>', text: 'S' },
    })
    expect(await patch({ signature: { text: 'line\nline' } })).toMatchObject({
      name: 'Sales',
      signature: { html: null, text: 'line\nline' },
    })
    expect(await patch({ name: null })).toMatchObject({ name: null, signature: { text: 'line\nline' } })
    expect(await patch({})).toMatchObject({ name: null, signature: { text: 'line\nline' } })
    expect(await patch({ signature: null })).toEqual({ ...sales, name: null })
    expect((await list())[1]).toEqual({ ...sales, name: null })
  })

  test('changes the signature of the account’s own address, but not its name', async () => {
    const app = await newTenant()
    const { path, list, accountId } = await openIdentities(app)
    const own = `${path}/${accountId}`

    expect(await app.patch(own, { signature: { html: '<b>Ada</b>' } })).toMatchObject({
      status: 200,
      body: { id: accountId, source: 'primary', signature: { html: '<b>Ada</b>', text: null } },
    })
    for (const name of ['Countess', null])
      expect(await app.patch(own, { name, signature: null })).toMatchObject({
        status: 400,
        body: { code: 'identity_not_custom' },
      })
    expect(await app.patch(own, {})).toMatchObject({ body: { signature: { html: '<b>Ada</b>' } } })
    expect(await list()).toMatchObject([{ name: 'Ada', signature: { html: '<b>Ada</b>' } }])
    expect(await app.patch(own, { signature: null })).toMatchObject({ body: { signature: null } })
  })

  test.each<[Record<string, unknown>, string[]]>([
    [{ address: 'b@example.com' }, ['address']],
    [{ name: 'a\tb' }, ['name']],
    [{ name: 7 }, ['name']],
    [{ signature: { html: 1 } }, ['signature', 'html']],
  ])('refuses %j by the path of the wrong field', async (body, issue) => {
    const app = await newTenant()
    const { path, create } = await openIdentities(app)
    const { body: sales } = await create({ address: 'sales@example.com' })
    expect(await app.patch(`${path}/${sales.id}`, body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: issue }] } },
    })
  })
})

describe('an identity', () => {
  test('is only reached through its own account and tenant', async () => {
    const app = await newTenant()
    const { path, list, create, accountId } = await openIdentities(app)
    const { body: sales } = await create({ address: 'sales@example.com' })
    const beside = await openIdentities(app, { email: 'grace@example.com' })
    const stranger = await app.createTenant()

    for (const id of [sales.id, accountId, '00000000-0000-7000-8000-000000000000', 'malformed']) {
      const missing = { status: 404, body: { code: 'identity_not_found' } }
      expect(await app.patch(`${beside.path}/${id}`, { signature: null })).toMatchObject(missing)
      expect(await app.delete(`${beside.path}/${id}`)).toMatchObject(missing)
    }
    const unseen = { status: 404, body: { code: 'account_not_found' } }
    expect(await stranger.get(path)).toMatchObject(unseen)
    expect(await stranger.post(path, { address: 'x@example.com' })).toMatchObject(unseen)
    expect(await stranger.patch(`${path}/${sales.id}`, { name: 'Mine' })).toMatchObject(unseen)
    expect(await stranger.delete(`${path}/${sales.id}`)).toMatchObject(unseen)
    expect(await list()).toMatchObject([{ address: 'Ada@Example.com' }, { name: null }])
  })

  test('of the account itself cannot be deleted, a custom one only once', async () => {
    const app = await newTenant()
    const { path, create, accountId } = await openIdentities(app)
    const { body: sales } = await create({ address: 'sales@example.com' })
    expect(await app.delete(`${path}/${accountId}`)).toMatchObject({
      status: 400,
      body: { code: 'identity_not_custom' },
    })
    expect(await app.delete(`${path}/${sales.id}`)).toMatchObject({ status: 200, body: null })
    expect((await app.delete(`${path}/${sales.id}`)).body['code']).toBe('identity_not_found')
    expect((await create({ address: 'sales@example.com' })).status).toBe(200)
  })

  test('goes out of reach with its account', async () => {
    const app = await newTenant()
    const { path, create, accountId } = await openIdentities(app)
    await create({ address: 'sales@example.com' })
    await app.delete(`/v1/accounts/${accountId}`)
    expect((await app.get(path)).body['code']).toBe('account_not_found')
    expect((await create({ address: 'more@example.com' })).body.code).toBe('account_not_found')
  })
})
