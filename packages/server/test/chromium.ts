import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'
import { requireChromium } from './servers/install.ts'

/** As long as every other wait of the tests. */
const WAIT_MILLISECONDS = 120_000

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: requireChromium(),
    // Chromium has no sandbox as root, and /dev/shm is small in containers.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    timeout: WAIT_MILLISECONDS,
  })
}

export async function openContext(
  browser: Browser,
  options?: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(WAIT_MILLISECONDS)
  return context
}
