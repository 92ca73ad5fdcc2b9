import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { accountPath } from '@waxwing/contract/shapes.ts'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { openTestDoor } from '../../test/open-door.ts'
import type { RequestContext } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'
import { MODULES } from '../features/tenancy/plans/plan.ts'

const output = z.object({ note: z.string() })

/** For each module an operation that reads and one that writes. */
const declared = MODULES.map(module => ({
  module,
  read: operation({
    method: 'GET',
    path: `/v1/${module}`,
    scope: 'read',
    module,
    summary: 'Read something.',
    query: z.strictObject({ note: z.string() }),
    output,
  }),
  write: operation({
    method: 'POST',
    path: `/v1/accounts/{accountId}/${module}`,
    scope: 'write',
    module,
    audit: 'note.update',
    summary: 'Store something.',
    refuses: ['account_not_found'],
    params: accountPath,
    body: z.strictObject({ note: z.string() }),
    output,
  }),
}))

const operations = Object.fromEntries(
  declared.flatMap(({ module, read, write }) => [
    [
      `${module}Read`,
      implement(read)
        .$context<RequestContext>()
        .handler(({ input }) => input.query),
    ],
    [
      `${module}Write`,
      implement(write)
        .$context<RequestContext>()
        .handler(({ input, context }) =>
          input.params.accountId === 'unknown'
            ? refuse('account_not_found')
            : context.change(() => Promise.resolve(input.body)),
        ),
    ],
  ]),
)

test('an operation of a module is refused to tenants whose plan lacks it, after its input, before its resource', async () => {
  await using door = await openTestDoor({ operations })
  const key = await door.createKey(['write', 'read'])
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${door.address}/v1/${path}`, {
      ...init,
      headers: { ...headers, ...init.headers },
    })
    const { code = 'ok' }: { code?: string } = JSON.parse(await answer.text())
    return `${answer.status} ${code}`
  }
  const post = (module: string, { account = 'a', body = '{"note":"a"}', idempotencyKey = '' } = {}) =>
    ask(`accounts/${account}/${module}`, {
      method: 'POST',
      body,
      headers: idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey },
    })
  const MISSING = '403 plan_module_unavailable'

  for (const module of MODULES) {
    await door.limit({ modules: null })
    expect([await ask(`${module}?note=a`), await post(module, { idempotencyKey: `${module}-1` })]).toEqual([
      '200 ok',
      '200 ok',
    ])

    await door.limit({ modules: MODULES.filter(other => other !== module) })
    expect([await ask(`${module}?note=a`), await post(module)]).toEqual([MISSING, MISSING])
    expect(await post(module, { account: 'unknown' })).toBe(MISSING)
    expect([await ask(module), await post(module, { body: '{}' })]).toEqual([
      '400 invalid_input',
      '400 invalid_input',
    ])
    // An earlier answer is given again; a refusal is kept as well.
    expect(await post(module, { idempotencyKey: `${module}-1` })).toBe('200 ok')
    expect(await post(module, { idempotencyKey: `${module}-2` })).toBe(MISSING)

    await door.limit({ modules: [module] })
    expect([await ask(`${module}?note=a`), await post(module)]).toEqual(['200 ok', '200 ok'])
    expect(await post(module, { account: 'unknown' })).toBe('404 account_not_found')
    expect(await post(module, { idempotencyKey: `${module}-2` })).toBe(MISSING)
  }
  const sender = await door.createKey(['send'])
  expect(await ask('ai?note=a', { headers: { authorization: `Bearer ${sender}` } })).toBe('403 missing_scope')
})
