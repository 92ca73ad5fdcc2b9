import fc from '../../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { countJudgements, ITEMS_MAX } from './counts.ts'
import { judgeItems, type TrackingItem } from './judge.ts'
import { findSign, MACHINES } from './machines.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36'
const OUTLOOK = 'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.18324; Pro)'
const THUNDERBIRD = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.5.0'
const GMAIL = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
const GMAIL_PREFETCH =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0'
const YAHOO = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'
const APPLE = 'Mozilla/5.0'

describe('a request', () => {
  test.each([
    ['of Firefox', FIREFOX, null, null, null],
    ['of Mail on a phone', IPHONE, null, null, null],
    ['of Outlook', OUTLOOK, null, null, null],
    ['of Thunderbird', THUNDERBIRD, null, null, null],
    ['of the proxy of Gmail', GMAIL, '66.249.84.1', null, null],
    ['of the proxy of Yahoo', YAHOO, null, null, null],
    ['of the private relay of Apple', APPLE, '17.58.0.1', null, 'prefetch'],
    ['of Gmail before the mail is opened', GMAIL_PREFETCH, '66.249.84.1', null, 'prefetch'],
    ['that a browser sends in advance', CHROME, null, 'prefetch;prerender', 'prefetch'],
    ['for a preview', 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', null, null, 'prefetch'],
    ['from Barracuda', CHROME, '209.222.82.14', null, 'scanner'],
    ['from Proofpoint', CHROME, '67.231.152.3', null, 'scanner'],
    ['from beside Proofpoint', CHROME, '67.231.160.1', null, null],
    ['of Barracuda', 'BarracudaCentral/1.0', null, null, 'scanner'],
    [
      'of a robot',
      'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
      null,
      null,
      'scanner',
    ],
    [
      'of a browser without a head',
      'Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/143.0',
      null,
      null,
      'scanner',
    ],
    ['of curl', 'curl/8.17.0', null, null, 'scanner'],
    ['of a library', 'python-requests/2.32', null, null, 'scanner'],
    ['without a name', '', null, null, 'scanner'],
    ['without a field', null, null, null, 'scanner'],
  ] as const)('%s', (_, userAgent, address, purpose, expected) => {
    expect(findSign({ userAgent, address, purpose })).toBe(expected)
  })

  test('is judged by rules that name their source', () => {
    for (const { name, source, userAgent, ranges = [] } of MACHINES) {
      expect({ name, hasRule: userAgent !== undefined || ranges.length > 0 }).toEqual({ name, hasRule: true })
      expect(source.length).toBeGreaterThan(10)
    }
  })
})

/**
 * The items of a message, as they were judged by hand: seconds after its hand-over, the item, its client, its network,
 * and the judgement.
 */
type Line = [at: number, what: string, userAgent: string, client: string, verdict: string]

const TRACES: Array<{ name: string; links: number; lines: Line[] }> = [
  {
    name: 'a person reads and clicks',
    links: 4,
    lines: [
      [640, 'open', THUNDERBIRD, 'a', 'person'],
      [662, 'click 2', FIREFOX, 'a', 'person'],
      [671, 'click 2', FIREFOX, 'a', 'repeated'],
      [3600, 'open', THUNDERBIRD, 'a', 'person'],
    ],
  },
  {
    name: 'Apple fetches at the delivery, the person clicks later',
    links: 3,
    lines: [
      [20, 'open', APPLE, 'relay', 'prefetch'],
      [5400, 'click 0', IPHONE, 'a', 'person'],
    ],
  },
  {
    name: 'Gmail fetches in advance, and again when the person opens',
    links: 3,
    lines: [
      [2, 'open', GMAIL_PREFETCH, 'google', 'prefetch'],
      [300, 'open', GMAIL, 'google', 'person'],
      [340, 'click 1', CHROME, 'b', 'person'],
    ],
  },
  {
    name: 'the proxy of Gmail fetches with the delivery',
    links: 1,
    lines: [
      [1, 'open', GMAIL, 'google', 'prefetch'],
      [900, 'open', GMAIL, 'google', 'person'],
    ],
  },
  {
    name: 'a gateway follows every link in the guise of a browser, the person reads an hour later',
    links: 6,
    lines: [
      [3, 'open', CHROME, 's1', 'burst'],
      [3, 'click 0', CHROME, 's1', 'burst'],
      [4, 'click 1', CHROME, 's2', 'burst'],
      [4, 'click 2', CHROME, 's3', 'burst'],
      [5, 'click 3', CHROME, 's1', 'burst'],
      [5, 'click 4', CHROME, 's4', 'burst'],
      [6, 'click 5', CHROME, 's1', 'burst'],
      [3700, 'open', OUTLOOK, 'c', 'person'],
      [3720, 'click 3', CHROME, 'c', 'person'],
    ],
  },
  {
    name: 'a gateway follows one link and the trap',
    links: 9,
    lines: [
      [8, 'click 0', CHROME, 's1', 'honeypot'],
      [9, 'trap', CHROME, 's1', 'honeypot'],
      [12, 'open', CHROME, 's1', 'honeypot'],
      [60, 'open', OUTLOOK, 'd', 'person'],
    ],
  },
  {
    name: 'a scanner names itself when the person clicks',
    links: 5,
    lines: [
      [100, 'open', OUTLOOK, 'e', 'person'],
      [110, 'click 4', 'Mozilla/5.0 (compatible; SafeLinks)', 'ms', 'scanner'],
      [111, 'click 4', CHROME, 'e', 'person'],
    ],
  },
  {
    name: 'a person opens two of many links at once',
    links: 12,
    lines: [
      [50, 'open', FIREFOX, 'f', 'person'],
      [52, 'click 3', FIREFOX, 'f', 'person'],
      [53, 'click 7', FIREFOX, 'f', 'person'],
      [90, 'click 8', FIREFOX, 'f', 'person'],
    ],
  },
  {
    name: 'a person clicks both links of a message, one after the other',
    links: 2,
    lines: [
      [200, 'click 0', FIREFOX, 'g', 'person'],
      [206, 'click 1', FIREFOX, 'g', 'person'],
    ],
  },
  {
    name: 'a machine takes both links of a message at once',
    links: 2,
    lines: [
      [4, 'click 0', CHROME, 'h', 'burst'],
      [5, 'click 1', CHROME, 'h', 'burst'],
    ],
  },
  {
    name: 'a newsletter of which a person opens four stories over a minute',
    links: 30,
    lines: [
      [1000, 'open', YAHOO, 'y', 'person'],
      [1010, 'click 1', IPHONE, 'i', 'person'],
      [1025, 'click 2', IPHONE, 'i', 'person'],
      [1040, 'click 3', IPHONE, 'i', 'person'],
      [1060, 'click 4', IPHONE, 'i', 'person'],
    ],
  },
]

function itemOf([at, what, userAgent, client]: Line, index: number): TrackingItem {
  const [kind = '', link] = what.split(' ')
  return {
    id: String(index),
    kind: kind === 'trap' ? 'honeypot' : kind === 'click' ? 'click' : 'open',
    link: link === undefined ? null : Number(link),
    client,
    sign: findSign({ userAgent, address: null, purpose: null }),
    ip: null,
    userAgent,
    at: at * 1000,
    isJudged: false,
  }
}

describe('a trace that was judged by hand', () => {
  test.each(TRACES)('$name', ({ links, lines }) => {
    const judged = judgeItems(lines.map(itemOf), { links, handedOverAt: 0 }, 1e9)
    expect(judged.map(({ item, verdict }) => [item.at / 1000, verdict])).toEqual(
      lines.map(([at, , , , verdict]) => [at, verdict]),
    )
  })

  test.each(TRACES)('as it comes, second by second: $name', ({ links, lines }) => {
    const items = lines.map(itemOf)
    const verdicts = new Map<string, string>()
    for (let now = 0; now < 4000; now++) {
      const come = items.filter(({ at }) => at <= now * 1000)
      const seen = come.filter(({ id }) => verdicts.get(id) !== 'repeated')
      const about = seen.map(item => ({ ...item, isJudged: verdicts.has(item.id) }))
      for (const { item, verdict } of judgeItems(about, { links, handedOverAt: 0 }, now * 1000)) {
        expect(verdicts.has(item.id)).toBe(false)
        verdicts.set(item.id, verdict)
      }
    }
    const late = lines.filter(([at]) => at < 3900)
    expect(late.map((_, index) => verdicts.get(String(index)))).toEqual(
      late.map(([, , , , verdict]) => verdict),
    )
  })
})

describe('an item to be judged', () => {
  test('waits ten seconds', () => {
    const items = [itemOf([5, 'open', FIREFOX, 'a', ''], 0)]
    expect(judgeItems(items, { links: 1, handedOverAt: null }, 14_999)).toEqual([])
    expect(judgeItems(items, { links: 1, handedOverAt: null }, 15_000)).toMatchObject([{ verdict: 'person' }])
  })

  test('counts without being kept beyond the limit', () => {
    const lines = Array.from({ length: 4 }, (_, index): Line => [index * 40, 'click 0', FIREFOX, 'a', ''])
    const judged = judgeItems(lines.map(itemOf), { links: 9, handedOverAt: null }, 1e9)
    const counts = countJudgements(judged, ITEMS_MAX - 1)
    expect([counts.kept.length, counts.dropped.length, counts.clicks.count, counts.linkClicks]).toEqual([
      1,
      3,
      4,
      { 0: 4 },
    ])
    expect([counts.clicks.firstAt, counts.clicks.lastAt]).toEqual([0, 120_000])
  })
})

/** Whether a message with these links had a burst near an item, judged by all pairs of its clicks. */
function hasBurst(items: readonly TrackingItem[], at: number, links: number): boolean {
  const clicks = items.filter(item => item.kind === 'click' && Math.abs(item.at - at) <= 10_000)
  const clicked = new Set(clicks.map(({ link }) => link)).size
  if (clicked >= 3) return clicked >= Math.min(links, 5)
  return (
    links === 2 &&
    clicked === 2 &&
    clicks.some(one => clicks.some(other => one.link !== other.link && Math.abs(one.at - other.at) <= 2000))
  )
}

describe('a burst', () => {
  const items = fc
    .array(fc.record({ what: fc.constantFrom('open', 'click 0', 'click 1', 'click 2'), at: fc.nat(60) }), {
      maxLength: 40,
    })
    .map(all =>
      all
        .toSorted((a, b) => a.at - b.at)
        .map(({ what, at }, index) => itemOf([at, what, FIREFOX, `c${index}`, ''], index)),
    )

  test('can be made up of any of the clicks near an item', () => {
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 4 }), fc.nat(80), (all, links, now) => {
        for (const { item, verdict } of judgeItems(all, { links, handedOverAt: null }, now * 1000))
          expect(verdict).toBe(hasBurst(all, item.at, links) ? 'burst' : 'person')
      }),
      { seed: 7, numRuns: 2000 },
    )
  })

  test('is looked for in one pass over the items', () => {
    let reads = 0
    const all = Array.from({ length: 4000 }, (_, index) => {
      // The clicks on the two links are too far from each other to be a pair.
      const at = index < 2000 ? 0 : 5
      const item = itemOf([at, index < 2000 ? 'click 0' : 'click 1', FIREFOX, `c${index}`, ''], index)
      return Object.defineProperty(item, 'at', { get: () => (reads++, at * 1000) })
    })
    const judged = judgeItems(all, { links: 2, handedOverAt: null }, 1e9)
    expect(new Set(judged.map(({ verdict }) => verdict))).toEqual(new Set(['person']))
    expect(reads).toBeLessThan(20 * all.length)
  })
})
