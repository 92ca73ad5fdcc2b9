import { expect, test } from 'vitest'
import { fold, given, toPage } from './delta.ts'
import { LinkExpired } from './failure.ts'

const removed = (id: string) => ({ id, '@removed': { reason: 'deleted' } })

test('names a message once that a page names twice, with what each says of it', () => {
  const { items } = fold(
    [
      { id: 'a', isRead: false, isDraft: false },
      { id: 'b', isRead: true },
      { id: 'a', isRead: true },
    ],
    given,
  )
  expect(items).toEqual([
    { id: 'a', isRead: true, isDraft: false },
    { id: 'b', isRead: true },
  ])
})

test('takes a field that is left out, or null, for unchanged', () => {
  const { items } = fold(
    [
      { id: 'a', isRead: true, parentFolderId: 'one' },
      { id: 'a', isRead: undefined, parentFolderId: null },
    ],
    given,
  )
  expect(items).toEqual([{ id: 'a', isRead: true, parentFolderId: 'one' }])
})

test('looks at a message that has left and is there, in whatever order', () => {
  expect(fold([removed('a'), { id: 'a', isRead: true }, removed('b')], given)).toEqual({
    items: [{ id: 'a', isRead: true }],
    removed: ['b'],
  })
  expect(fold([{ id: 'a' }, removed('a')], given)).toEqual({ items: [{ id: 'a' }], removed: [] })
})

test('cannot go on from a page without a link', () => {
  expect(() => toPage({ value: [] }, given)).toThrow(LinkExpired)
  expect(toPage({ value: [], '@odata.nextLink': 'n' }, given)).toMatchObject({ link: 'n', isLast: false })
  expect(toPage({ value: [], '@odata.deltaLink': 'd' }, given)).toMatchObject({ link: 'd', isLast: true })
})
