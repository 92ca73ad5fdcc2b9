import { registerHooks } from 'node:module'

const SOURCES: Readonly<Record<string, string>> = {
  '@waxwing/sdk': 'index.ts',
  '@waxwing/sdk/webhooks': 'webhooks.ts',
  '@waxwing/sdk/node': 'node.ts',
}

// The package has no JavaScript before it is packed. Its sources run as they are.
registerHooks({
  resolve(specifier, context, next) {
    const file = SOURCES[specifier]
    if (file === undefined) return next(specifier, context)
    return next(new URL(`../../../sdk/src/${file}`, import.meta.url).href, context)
  },
})
