import MiniSearch from 'minisearch'
import { expect, test } from 'vitest'
import { INDEX_OPTIONS, findPlaces } from '../../../../scripts/docs/browser/find.js'
import { makeSite } from '../../../../scripts/docs/site.ts'
import { QUESTIONS } from './questions.ts'

const FIRST = 3
const SHARE_MIN = 0.9

const { files } = await makeSite()
const index = MiniSearch.loadJSON(files.get('/docs/search.json')?.content ?? '', INDEX_OPTIONS)

test('questions in the words of users have their page among the first three', () => {
  const missed = QUESTIONS.flatMap(([question, ...pages]) => {
    const found = findPlaces(index, question, FIRST).map(({ to }) =>
      to.replace(/#.*/, '').replace('/docs/', ''),
    )
    return pages.some(page => found.includes(page)) ? [] : [`${question}: ${found.join(', ')}`]
  })
  expect(QUESTIONS.length).toBe(60)
  expect(missed, missed.join('\n')).toHaveProperty(
    'length',
    expect.toSatisfy((count: number) => count <= QUESTIONS.length * (1 - SHARE_MIN)),
  )
})

test.each([
  ['messages.list', '/docs/reference/messages#messages.list'],
  ['hasAttachments', '/docs/guides/webhooks#message.hasAttachments'],
  ['unknown_mailbox', '/docs/reference/reasons#unknown_mailbox'],
  ['message.bounced', '/docs/reference/events#messagebounced'],
  ['WAXWING_TRUST_PROXY', '/docs/guides/configuration#WAXWING_TRUST_PROXY'],
  ['MessageSummary', '/docs/reference/schemas#schema-MessageSummary'],
])('the name %s leads to its place', (name, place) => {
  expect(findPlaces(index, name, 1)[0]?.to).toBe(place)
})
