import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { configureGmail } from '../packages/server/test/gmail/gmail-client.ts'
import { connectGmail, gmailSettings, PUSH_SETTINGS, pushTo } from './gmail-accounts.ts'
import { measureNotices } from './notice.ts'
import type { Benchmark } from './row.ts'
import { startSandboxProcess } from './sandbox-process.ts'
import { startBenchService } from './service.ts'

const EMAIL = 'notice@gmail.test'
const MESSAGES = 1000

export const gmailNotice: Benchmark = {
  name: 'gmail-notice',
  about: "From Gmail's push until the message is in the change feed.",
  async run(report) {
    await using sandbox = await startSandboxProcess()
    await configureGmail(sandbox, { quota: 'off' })
    await sandbox.addUser(EMAIL, { messages: MESSAGES })
    await using relay = await startRelay()
    await using service = await startBenchService({
      // Google signs pushes for the address that they are sent to.
      env: { ...gmailSettings(sandbox), ...PUSH_SETTINGS, WAXWING_BASE_URL: relay.origin },
    })
    relay.forwardTo(service.address)
    await pushTo(sandbox, relay.origin)
    await service.untilInitialized(await connectGmail(service, sandbox, EMAIL))
    await measureNotices(report, service, {
      deliver: raw => sandbox.deliver(EMAIL, raw),
      noticedAt: () => relay.noticedAt,
      p50Target: '≤ 20 (10)',
    })
  },
}

/** Passes pushes on, and notes when the last one came. */
async function startRelay() {
  let target = ''
  const server = createServer(async (request, response) => {
    relay.noticedAt = performance.now()
    const { authorization = '', 'content-type': type = '' } = request.headers
    const { status } = await fetch(new URL(request.url ?? '/', target), {
      method: 'POST',
      headers: { authorization, 'content-type': type },
      body: await buffer(request),
    })
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    noticedAt: 0,
    forwardTo: (address: string) => void (target = address),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return relay
}
