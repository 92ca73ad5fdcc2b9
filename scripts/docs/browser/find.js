/** Common words, which lead nowhere. */
const STOP_WORDS = new Set(
  'a an and are as at be but by can do does for from get has have how i if in into is it its me my not of on one only or our so such than that the their them then there these they this to us use using want was we what when where which will with without work works you your'.split(
    ' ',
  ),
)

/** Words of users, with those that the pages have for the same thing. */
const SYNONYMS = new Map(
  Object.entries({
    azure: 'microsoft',
    code: 'reason',
    deduplicate: 'idempotency',
    docker: 'container',
    email: 'mail',
    failed: 'retry',
    folder: 'mailbox',
    inbox: 'mailbox',
    instance: 'process',
    integration: 'sandbox',
    later: 'sendat',
    newsletter: 'merge',
    notification: 'webhook',
    notified: 'webhook',
    o365: 'microsoft',
    oauth2: 'oauth',
    outlook: 'microsoft',
    pagination: 'page',
    recipient: 'merge',
    recurring: 'recurrence',
    schedule: 'sendat',
    twice: 'idempotency',
  }),
)

/** A word as it is in the index: without its plural, and null if it leads nowhere. @param {string} term */
function termOf(term) {
  const word = term.toLowerCase()
  if (STOP_WORDS.has(word)) return null
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
}

/** How the index is made, and read again: both sides must agree. */
export const INDEX_OPTIONS = {
  fields: ['title', 'page', 'names', 'text'],
  storeFields: ['to', 'title', 'page', 'kind'],
  processTerm: termOf,
}

const BOOST = { title: 3, page: 3, names: 4 }
/** The weight of a place on the page of a better one. */
const OTHER_PLACES = 0.15
const PLACES_MAX = 6
/** Weights of places that answer few questions unless they are named. */
const WEIGHTS = new Map([
  ['setting', 0.5],
  ['schema', 0.7],
  ['event', 0.8],
])
/** Pages that mention everything, for readers who look for them. */
const SPECIAL = /^\/docs\/guides\/(?:nemesis|coming-from)/
const SPECIAL_WEIGHT = 0.4
/** The weight of a place that has the words as its name, such as a reason. */
const EXACT = 20

/**
 * @typedef {object} Found
 * @property {string} to Address of the place.
 * @property {string} title
 * @property {string} page Title of the page.
 * @property {string} kind
 */

/** @typedef {Found & { score: number, queryTerms: string[] }} Hit A place of the index with its score. */

/**
 * Finds pages by words, the best first. Each page is there once, with its best place. A page counts for more if more of
 * the words are on it.
 *
 * @param {{ search(query: string, options: object): Hit[] }} index
 * @param {string} query
 * @param {number} count
 * @returns {Found[]}
 */
export function findPlaces(index, query, count) {
  const words = [
    ...new Set((query.match(/[\p{L}\p{N}_]+/gu) ?? []).map(termOf).filter(word => word !== null)),
  ]
  const synonyms = words.map(word => SYNONYMS.get(word ?? '')).filter(word => word !== undefined)
  const whole = [query.trim(), ...synonyms].join(' ')
  const results = index.search(whole, {
    boost: BOOST,
    prefix: (/** @type {string} */ term) => term.length > 3,
    fuzzy: (/** @type {string} */ term) => (term.length > 5 ? 0.15 : false),
    weights: { prefix: 0.3, fuzzy: 0.1 },
  })
  /** @type {Map<string, { best: Hit, score: number, places: number, words: Set<string> }>} */
  const byPage = new Map()
  for (const result of results) {
    const [path = ''] = result.to.split('#')
    if (result.title.toLowerCase() === query.trim().toLowerCase()) result.score *= EXACT
    else result.score *= (WEIGHTS.get(result.kind) ?? 1) * (SPECIAL.test(result.to) ? SPECIAL_WEIGHT : 1)
    const page = byPage.get(path) ?? { best: result, score: 0, places: 0, words: new Set() }
    page.score +=
      page.places === 0 ? result.score : page.places < PLACES_MAX ? result.score * OTHER_PLACES : 0
    page.places += 1
    for (const word of result.queryTerms) page.words.add(word)
    byPage.set(path, page)
  }
  const all = Math.max(words.length, 1)
  return [...byPage.values()]
    .map(({ best, score, words: found }) => ({ best, score: score * Math.min(found.size / all, 1) }))
    .toSorted((one, other) => other.score - one.score)
    .slice(0, count)
    .map(({ best: { to, title, page, kind } }) => ({ to, title, page, kind }))
}
