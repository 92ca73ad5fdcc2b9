import { configureGmail } from '../packages/server/test/gmail/gmail-client.ts'
import { connectGmail, gmailSettings, PUSH_SETTINGS, pushTo } from './gmail-accounts.ts'
import { measureNotices } from './notice.ts'
import { startPushRelay } from './push-relay.ts'
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
    await using relay = await startPushRelay()
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
