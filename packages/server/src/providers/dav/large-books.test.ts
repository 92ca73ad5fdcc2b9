import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { openOddAccount } from '../../../test/servers/odd-dav-account.ts'
import { found } from '../../../test/servers/odd-dav-collection.ts'
import { never } from '../conformance/arrangement.ts'
import { MEMBERS_MAX } from './listing.ts'

/** Members that are written at once. */
const WRITTEN = 200

const nameOf = (number: number) => `${String(number).padStart(6, '0')}.vcf`

/** Writes a listing as fast as it is read. */
function writeListing(response: ServerResponse, count: number): void {
  response.writeHead(207)
  response.write('<d:multistatus xmlns:d="DAV:">')
  let at = 0
  const more = () => {
    while (at < count) {
      let text = ''
      for (const end = Math.min(count, at + WRITTEN); at < end; at += 1)
        text += `<d:response><d:href>${nameOf(at)}</d:href><d:propstat><d:prop><d:getetag>"${at}"</d:getetag></d:prop></d:propstat></d:response>`
      if (!response.write(text)) return
    }
    response.end('</d:multistatus>')
  }
  response.on('drain', more)
  more()
}

test('compares a book of 200,000 cards', async () => {
  await using opened = await openOddAccount({ tokenStatus: null }, [])
  const { dav, contacts, index } = opened
  const known = new Map<string, string>()
  for (let at = 0; at < MEMBERS_MAX; at += 1) known.set(`/home/ada/people/${nameOf(at)}`, String(at))
  dav.oddities.answers = (request, response) => {
    if (request.url !== '/home/ada/people/' || request.headers['depth'] !== '1') return false
    request.resume()
    writeListing(response, MEMBERS_MAX)
    return true
  }
  const following = { folder: index.folder, cursor: null, known: async () => known, signal: never }
  const steps = await Array.fromAsync(contacts.follow(following))

  expect(steps.map(({ type }) => type)).toEqual(['end'])
})

test('refuses an answer with more responses than may be read', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  dav.oddities.answers = (request, response) => {
    request.resume()
    response.writeHead(207)
    response.end(`<multistatus xmlns="DAV:">${found('/home/ada/', '').repeat(10_001)}</multistatus>`)
    return true
  }

  await expect(contacts.listFolders(never)).rejects.toThrow(/too many responses|more than an answer may have/)
})
