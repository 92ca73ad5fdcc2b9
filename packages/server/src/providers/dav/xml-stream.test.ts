import { describe, expect, test } from 'vitest'
import { type DavResponse, propHref, propText, readMultistatus } from './multistatus.ts'
import { D } from './names.ts'
import { ITEM_CHARACTERS_MAX } from './xml-stream.ts'

async function* inChunks(text: string, bytes = 7): AsyncGenerator<Uint8Array> {
  const whole = Buffer.from(text)
  for (let at = 0; at < whole.length; at += bytes) yield whole.subarray(at, at + bytes)
}

async function read(text: string, bytes?: number): Promise<DavResponse[]> {
  const responses: DavResponse[] = []
  for await (const some of readMultistatus(inChunks(text, bytes)).responses) responses.push(...some)
  return responses
}

const within = (content: string) => `<multistatus xmlns="DAV:">${content}</multistatus>`
const found = (props: string, status = '<status>HTTP/1.1 200 OK</status>') =>
  `<response><href>/a</href><propstat><prop>${props}</prop>${status}</propstat></response>`

describe('a multistatus', () => {
  test('is read by namespaces, whatever the prefixes are', async () => {
    const [one] = await read(
      `<?xml version="1.0"?><x:multistatus xmlns:x="DAV:" xmlns:D="urn:other"><x:response><x:href>/ä%20b</x:href>
      <x:propstat><x:prop><x:getetag>"1&amp;&#x2d;2"</x:getetag><D:getetag>not this</D:getetag></x:prop>
      <x:status>HTTP/1.1 200 OK</x:status></x:propstat></x:response></x:multistatus>`,
    )
    expect(one?.hrefs).toEqual(['/ä%20b'])
    expect(propText(one!, D.getetag)).toBe('"1&-2"')
  })

  test.each([
    [
      'a status of its own',
      '<response><href>/a</href><status>HTTP/1.1 404 Not Found</status></response>',
      404,
      null,
    ],
    ['properties that were found', found('<getetag>x</getetag>'), null, 'x'],
    ['properties without a status', found('<getetag>x</getetag>', ''), null, 'x'],
    ['properties that were not found', found('<getetag/>', '<status>HTTP/2 404</status>'), null, null],
    ['nothing', '<response><href>/a</href></response>', null, null],
  ])('has a response with %s', async (_, content, status, etag) => {
    const [one] = await read(within(content))
    expect(one?.status).toBe(status)
    expect(propText(one!, D.getetag)).toBe(etag)
  })

  test('reads text in CDATA, and hrefs within properties', async () => {
    const [one] = await read(
      within(
        found(
          '<getetag><![CDATA[<x>]]></getetag><current-user-principal><href>/p/</href></current-user-principal>',
        ),
      ),
    )
    expect(propText(one!, D.getetag)).toBe('<x>')
    expect(propHref(one!, D.principal)).toBe('/p/')
  })

  test('has no NUL in a text', async () => {
    const [one] = await read(within(found('<getetag>"a\0b"</getetag>')))
    expect(propText(one!, D.getetag)).toBe('"ab"')
  })

  test('drops a text that is too long, and reads the next response', async () => {
    const [long, next] = await read(
      within(
        found(`<getetag>${'x'.repeat(ITEM_CHARACTERS_MAX + 1)}</getetag>`) + found('<getetag>y</getetag>'),
      ),
      100_000,
    )
    expect(long?.props.get(D.getetag)).toMatchObject({ isCut: true, text: '' })
    expect(propText(next!, D.getetag)).toBe('y')
  })
})

test('others have the event loop while a large document is read, although it is there at once', async () => {
  let turns = 0
  let isOver = false
  const turn = () => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  turn()

  const responses = await read(within(found('<getetag>x</getetag>').repeat(40_000)), Infinity)

  isOver = true
  expect(responses).toHaveLength(40_000)
  expect(turns).toBeGreaterThan(5)
})

const ENTITIES = [...'bcdefghij']
  .map((name, at) => `<!ENTITY ${name} "${`&${'abcdefghij'[at]};`.repeat(10)}">`)
  .join('')

test.each([
  ['a document type', `<!DOCTYPE a>${within('')}`],
  [
    'entities that grow',
    `<!DOCTYPE a [<!ENTITY a "x">${ENTITIES}]>${within(found('<getetag>&j;</getetag>'))}`,
  ],
  ['an entity of a file', `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>${within('&x;')}`],
  ['a document type that does not end', `<!DOCTYPE a [${'<!ENTITY a "x">'.repeat(10_000)}`],
  ['an unknown entity', within(found('<getetag>&nbsp;</getetag>'))],
  ['another root', '<html><body>Not found</body></html>'],
  ['a root of another namespace', '<multistatus><response/></multistatus>'],
  ['two roots', within('') + within('')],
  ['no end', '<multistatus xmlns="DAV:"><response><href>/a</href></response>'],
  ['nothing', ''],
  ['tags within tags', '<multistatus xmlns="DAV:">'.repeat(20_000)],
  ['too many elements in a response', within(found('<getetag/>'.repeat(3_000)))],
  [
    'too many attributes',
    within(`<response ${Array.from({ length: 3_000 }, (_, nth) => `a${nth}="b"`).join(' ')}/>`),
  ],
  ['a comment without end', `<multistatus xmlns="DAV:"><!--${'x'.repeat(200_000)}`],
  ['a prefix that means nothing', '<x:multistatus/>'],
  ['tags that do not match', '<multistatus xmlns="DAV:"><response></href></multistatus>'],
])('refuses %s', async (_, text) => {
  await expect(read(text, 5_000)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining("The server's answer cannot be read"),
  })
})
