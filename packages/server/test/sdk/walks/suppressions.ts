import { expect } from 'vitest'
import { inTransaction } from '../../../src/events/unit-of-work.ts'
import { recordReviews } from '../../../src/features/sending/suppressions/record-reviews.ts'
import { newId } from '../../../src/kit/ids.ts'
import type { SdkWorld } from './world.ts'

/** Lists of suppressions, their entries and reviews. */
export async function walkSuppressions({ waxwing, check, app, account }: SdkWorld): Promise<void> {
  const { accountId } = await account()
  const listId = 'news'
  const list = { id: listId, name: 'News' }
  await check('suppressions.create', 'POST /suppressions', () => waxwing.suppressions.create(list), list)
  const path = `/suppressions/${listId}` as const
  const change = { name: 'Letters' }
  await check(
    'suppressions.update',
    `PATCH ${path}`,
    () => waxwing.suppressions.update({ listId, ...change }),
    change,
  )
  const lists = await check('suppressions.list', 'GET /suppressions', () => waxwing.suppressions.list())
  expect(lists.items.map(({ name }) => name)).toContain('Letters')
  const address = 'grace+100%/ß@example.org'
  const entries = { addresses: [address, 'eve@example.org'] }
  await check(
    'suppressions.addEntries',
    `POST ${path}/entries`,
    () => waxwing.suppressions.addEntries({ listId, ...entries }),
    entries,
  )
  const { items } = await check(
    'suppressions.listEntries',
    `GET ${path}/entries?address=${encodeURIComponent(address)}`,
    () => waxwing.suppressions.listEntries({ listId, address }),
  )
  expect(items.map(entry => entry.address)).toEqual([address])
  await check('suppressions.deleteEntry', `DELETE ${path}/entries/${encodeURIComponent(address)}`, () =>
    waxwing.suppressions.deleteEntry({ listId, address }),
  )

  const review = { listId, source: 'reply' as const, accountId, messageId: newId(), outboxId: null }
  const found = ['ada@example.org', 'bob@example.org'].map(each => ({
    ...review,
    address: each,
    probability: 0.9,
    alternateContacts: [],
  }))
  await inTransaction(app.db, app.tenantId, unit => recordReviews(unit, found))
  const reviews = await check('suppressionReviews.list', `GET /suppression-reviews?listId=${listId}`, () =>
    waxwing.suppressionReviews.list({ listId }),
  )
  const [one = '', two = ''] = reviews.items.map(({ id }) => id)
  await check('suppressionReviews.approve', `POST /suppression-reviews/${one}/approve`, () =>
    waxwing.suppressionReviews.approve({ reviewId: one }),
  )
  await check('suppressionReviews.dismiss', `POST /suppression-reviews/${two}/dismiss`, () =>
    waxwing.suppressionReviews.dismiss({ reviewId: two }),
  )
  await check('suppressions.delete', `DELETE ${path}?withEntries=true`, () =>
    waxwing.suppressions.delete({ listId, withEntries: true }),
  )
}
