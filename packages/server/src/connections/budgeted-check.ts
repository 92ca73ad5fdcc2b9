import type { DavServer } from '../providers/dav-server.ts'
import type { MailServer, ServerCheck } from '../providers/mail-server.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { HostBudget } from './host-budget.ts'

const WAIT_SECONDS = 10

/** Checks of logins that keep to the same budgets of connections to a host as following and sending do. */
export function budgetedCheck(
  check: ServerCheck,
  budgets: { imap: HostBudget; smtp: HostBudget; dav: HostBudget },
): ServerCheck {
  return {
    async imap(server, password, onAsked) {
      using _permit = await waitForPermit(budgets.imap, server)
      await check.imap(server, password, onAsked)
    },
    async smtp(server, password, onAsked) {
      using _permit = await waitForPermit(budgets.smtp, server)
      await check.smtp(server, password, onAsked)
    },
    async dav(server, password, onAsked) {
      using permits = new DisposableStack()
      for (const host of hostsOf(server)) permits.use(await waitForPermit(budgets.dav, { host }))
      return check.dav(server, password, onAsked)
    },
  }
}

/** The hosts that are asked, each once, in an order that is the same for all. */
function hostsOf({ calendarUrl, contactsUrl }: DavServer): string[] {
  const hosts = [calendarUrl, contactsUrl].flatMap(url => URL.parse(url ?? '')?.hostname ?? [])
  return [...new Set(hosts)].toSorted()
}

async function waitForPermit(budget: HostBudget, { host }: Pick<MailServer, 'host'>): Promise<Disposable> {
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
