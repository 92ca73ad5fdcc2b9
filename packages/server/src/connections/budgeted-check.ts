import type { MailServer, ServerCheck } from '../providers/sign-in.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { HostBudget } from './host-budget.ts'

const WAIT_SECONDS = 10

/** Checks of IMAP logins that keep to the same budget of connections to a host as the sync does. */
export function budgetedCheck(check: ServerCheck, budget: HostBudget): ServerCheck {
  return {
    async imap(server, password) {
      using _permit = await waitForPermit(budget, server)
      await check.imap(server, password)
    },
    smtp: (server, password) => check.smtp(server, password),
  }
}

async function waitForPermit(budget: HostBudget, { host }: MailServer): Promise<Disposable> {
  try {
    return await budget.acquire(host, AbortSignal.timeout(WAIT_SECONDS * 1_000))
  } catch (error) {
    throw new ProviderFailure(
      'throttled',
      `All connections that ${host} is given are in use; try again soon.`,
      {
        cause: error,
        retryAfterSeconds: WAIT_SECONDS,
      },
    )
  }
}
