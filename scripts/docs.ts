/**
 * `npm run docs` makes the pages that the service serves at `/docs`. `npm start`, `npm run dev` and the tests make them if
 * a source is newer.
 */
import { parseArgs } from 'node:util'
import { isOutdated, SITE } from './docs/freshness.ts'

const HELP = `Makes the documentation pages, which the service serves at /docs.

Usage: npm run docs [-- options]

  --out DIR      writes them to a folder for any static host instead; its root becomes the root of the host.
                 The folder must be new, empty or from an earlier --out
  --if-outdated  does nothing if they are newer than their sources; if they cannot be made, says so and succeeds
  --help         this text
`

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    'if-outdated': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) process.stdout.write(HELP)
else if (values.out !== undefined) await exportTo(values.out)
else if (!values['if-outdated']) await make()
else if (isOutdated()) {
  try {
    await make()
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : error
    console.error(
      `The documentation pages could not be made, so the service starts without them or with old ones: ${why}`,
    )
  }
}

/** The modules that make pages need packages that a service does without. */
async function make() {
  const { writeSite } = await import('./docs/write-site.ts')
  await writeSite(SITE)
}

async function exportTo(folder: string) {
  const { exportSite, refusalOf } = await import('./docs/export-site.ts')
  const refusal = await refusalOf(folder)
  if (refusal === null) return exportSite(folder)
  console.error(refusal)
  process.exitCode = 2
}
