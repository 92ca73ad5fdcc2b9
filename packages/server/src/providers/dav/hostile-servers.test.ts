import { expect, test } from 'vitest'
import { sendMultistatus } from '../../../test/servers/odd-dav.ts'
import { openOddAccount } from '../../../test/servers/odd-dav-account.ts'
import { found } from '../../../test/servers/odd-dav-collection.ts'
import { never } from '../conformance/arrangement.ts'

test('ends an answer that drips when its caller gives up', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  dav.oddities.answers = (request, response) => {
    response.writeHead(207, { 'content-type': 'application/xml' })
    response.write('<multistatus xmlns="DAV:">')
    const drip = setInterval(() => response.write(' '), 5)
    response.once('close', () => clearInterval(drip))
    request.resume()
    return true
  }
  const signal = AbortSignal.timeout(300)

  await expect(contacts.listFolders(signal)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('refuses an answer that does not end, and entities that grow', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  dav.oddities.answers = (request, response) => {
    request.resume()
    response.writeHead(207)
    const more = () => {
      while (!response.destroyed && response.write(`<a>${'x'.repeat(60_000)}</a>`));
    }
    response.write('<multistatus xmlns="DAV:">')
    response.on('drain', more)
    more()
    return true
  }
  await expect(contacts.listFolders(never)).rejects.toMatchObject({ kind: 'unavailable' })

  dav.oddities.answers = (request, response) => {
    request.resume()
    response
      .writeHead(207)
      .end('<!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><multistatus xmlns="DAV:">&b;')
    return true
  }
  await expect(contacts.listFolders(never)).rejects.toThrow(/document type/)
})

test.each([
  ['in circles', '/home/ada/?again'],
  ['to a private host', 'http://10.0.0.1/home/ada/'],
  ['to another domain', 'http://example.com/home/ada/'],
  ['to a file', 'file:///etc/passwd'],
  ['with a login', 'http://ada:x@127.0.0.1/'],
])('refuses a redirect %s', async (_, location) => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  dav.authorizations.length = 0
  dav.oddities.answers = (request, response) => {
    request.resume()
    response.writeHead(302, { location }).end()
    return true
  }

  await expect(contacts.listFolders(never)).rejects.toMatchObject({
    kind: expect.stringMatching(/^(?:not_allowed|unavailable)$/),
  })
  expect(dav.authorizations.length).toBeLessThanOrEqual(4)
})

test('follows a redirect with the method and the body', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  const bodies: string[] = []
  dav.oddities.answers = (request, response) => {
    if (request.url === '/home/ada/') {
      request.resume()
      response.writeHead(301, { location: '/elsewhere/' }).end()
      return true
    }
    void Array.fromAsync(request as AsyncIterable<Buffer>).then(chunks => {
      bodies.push(`${request.method} ${Buffer.concat(chunks).toString()}`)
      sendMultistatus(response, found('/home/ada/', '') + found('/home/ada/books/', ADDRESS_BOOK))
    })
    return true
  }

  expect(await contacts.listFolders(never)).toMatchObject([{ key: '/home/ada/books' }])
  expect(bodies).toEqual([expect.stringMatching(/^PROPFIND .*<propfind/s)])
})

test('does not take the answer of another place for a home without address books', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  dav.oddities.answers = (request, response) => {
    request.resume()
    sendMultistatus(response, found('/maintenance/', ''))
    return true
  }

  await expect(contacts.listFolders(never)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('logs in to a server that shows strangers a home without address books', async () => {
  await using opened = await openOddAccount({ showsStrangers: true })
  const { dav, contacts } = opened
  dav.oddities.answers = (request, response) => {
    if (request.headers.authorization !== undefined) return false
    request.resume()
    const nobody = '<current-user-principal><unauthenticated/></current-user-principal>'
    sendMultistatus(response, found('/home/ada/', nobody))
    return true
  }

  expect(await contacts.listFolders(never)).toMatchObject([{ name: 'People' }])
})

const ADDRESS_BOOK =
  '<resourcetype><collection/><addressbook xmlns="urn:ietf:params:xml:ns:carddav"/></resourcetype>'
