import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openLog } from '../kit/log.ts'
import { findPlayedHosts, findStandIns, SandboxUnusable } from './stand-ins.ts'

function openTestLog() {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: openLog({ level: 'debug', format: 'json', destination }) }
}

async function startServer(answer: RequestListener) {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

test('reads the hosts that a sandbox plays, and warns of them', async () => {
  const { lines, log } = openTestLog()
  await using server = await startServer((_, response) => {
    response.end(
      '{"gmail.googleapis.com": "http://127.0.0.1:8045", "accounts.google.com": "http://localhost:8041"}',
    )
  })
  const hosts = await findStandIns(server.url, log)
  expect([...(hosts ?? [])].map(([host, origin]) => [host, origin.origin])).toEqual([
    ['gmail.googleapis.com', 'http://127.0.0.1:8045'],
    ['accounts.google.com', 'http://localhost:8041'],
  ])
  expect(lines.join('')).toContain('A sandbox plays the providers')
})

test('plays no hosts without a sandbox', async () => {
  expect(await findStandIns(null, openTestLog().log)).toBeNull()
})

test.each<[string, RequestListener]>([
  ['an error', (_, response) => response.writeHead(403).end('{}')],
  ['a redirect', ({ url }, response) => redirectOnce(url, response)],
  ['no JSON', (_, response) => response.end('<html>')],
  ['a list', (_, response) => response.end('["http://127.0.0.1:1"]')],
  ['a path in an origin', (_, response) => response.end('{"gmail.googleapis.com": "http://127.0.0.1:1/x"}')],
  ['another scheme', (_, response) => response.end('{"gmail.googleapis.com": "file:///etc/passwd"}')],
])('refuses to start with %s', async (_, answer) => {
  await using server = await startServer(answer)
  await expect(findStandIns(server.url, openTestLog().log)).rejects.toThrow(SandboxUnusable)
})

test.each<[string, RequestListener, string[]]>([
  ['the hosts of the domain', (_, response) => response.end('{"items": ["mx.corp.test"]}'), ['mx.corp.test']],
  ['no hosts for what is no list of names', (_, response) => response.end('{"items": ["a b"]}'), []],
  ['no hosts for an error', (_, response) => response.writeHead(404).end('{}'), []],
])('reads %s that take mail', async (_, answer, hosts) => {
  const asked: (string | undefined)[] = []
  await using server = await startServer((request, response) => {
    asked.push(request.url)
    answer(request, response)
  })
  expect(await findPlayedHosts(server.url)('corp.test')).toEqual(hosts)
  expect(asked).toEqual(['/mail-hosts/corp.test'])
  expect(await findPlayedHosts(null)('corp.test')).toEqual([])
})

test('reads no more than the bound of an answer that never ends', async () => {
  await using server = await startServer((_, response) => pour(response))
  const refused = await findStandIns(server.url, openTestLog().log).catch((error: unknown) => error)
  expect(refused).toMatchObject({ cause: { message: 'GET /hosts answered more than 65536 bytes' } })
})

test('refuses to start if nothing answers', async () => {
  const { url } = await (async () => {
    await using server = await startServer(() => {})
    return server
  })()
  await expect(findStandIns(url, openTestLog().log)).rejects.toThrow('Is it running?')
})

function redirectOnce(url: string | undefined, response: ServerResponse) {
  if (url === '/hosts') response.writeHead(302, { location: '/elsewhere' }).end()
  else response.end('{"gmail.googleapis.com": "http://127.0.0.1:1"}')
}

function pour(response: ServerResponse) {
  const chunk = ' '.repeat(16_384)
  const write = () => {
    while (!response.destroyed && response.write(chunk));
    if (!response.destroyed) response.once('drain', write)
  }
  write()
}
