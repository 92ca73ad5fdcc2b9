import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startHttpsServer } from '../../../test/https-server.ts'
import { makeCertificates } from '../../../test/servers/certificate.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { type EgressGuard, egressGuard } from '../../kit/egress/guard.ts'
import { fetchSmall } from './fetch-small.ts'

let certificates: string
let authority: string

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-fetch-'))
  authority = await makeCertificates(certificates, ['own.test'])
})
afterAll(() => rm(certificates, { recursive: true }))

test('sends the port in Host only if it is not the default one', async () => {
  await using web = await startHttpsServer(certificates)
  const hosts: unknown[] = []
  web.pages['own.test/'] = (request, response) => {
    hosts.push(request.headers.host)
    response.end()
  }
  const allowed = egressGuard({
    allow: parseEgressAllow(['127.0.0.1/32']),
    resolve: async () => ['127.0.0.1'],
  })
  // A test has no port 443, so that of the URL leads to the one that the server has.
  const guard: EgressGuard = { resolve: target => allowed.resolve({ ...target, port: web.port }) }
  for (const url of ['https://own.test/', 'https://own.test:443/', 'https://own.test:8443/']) {
    await fetchSmall(
      { guard, authorities: trustAlso(authority) },
      { method: 'GET', url: new URL(url) },
      AbortSignal.timeout(30_000),
    )
  }
  expect(hosts).toEqual(['own.test', 'own.test', 'own.test:8443'])
})
