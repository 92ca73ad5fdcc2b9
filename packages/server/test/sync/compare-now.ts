import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import { sql } from 'kysely'
import { expect } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { waitUntil } from '../wait-until.ts'

export async function readIntegrity(app: TestApp, accountId: string, query = ''): Promise<AccountIntegrity> {
  const { status, body } = await app.get<AccountIntegrity>(`/v1/accounts/${accountId}/integrity${query}`)
  expect(status).toBe(200)
  return body
}

/** Asks for a comparison, and waits for one that found everything equal. */
export async function compareNow(app: TestApp, accountId: string): Promise<AccountIntegrity> {
  const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(app.db)
  await readIntegrity(app, accountId, '?refresh=true')
  return waitUntil('a comparison of everything that found no difference', async () => {
    const integrity = await readIntegrity(app, accountId)
    const isLater = integrity.comparedAt !== null && new Date(integrity.comparedAt) > rows[0]!.at
    return isLater && integrity.state === 'verified' ? integrity : null
  })
}

/** Compares the calendars of an account, and expects that nothing had to be repaired. */
export async function expectEqualCalendars(app: TestApp, accountId: string): Promise<void> {
  const { calendars = [] } = await compareNow(app, accountId)
  expect(calendars).not.toEqual([])
  for (const each of calendars) expect(each).toMatchObject({ missing: 0, extra: 0, changed: 0, repaired: 0 })
}
