import type { RequestContext } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'
import type { Credential } from '../calls/credential.ts'
import type { CredentialEnds } from '../features/tenancy/credentials/credential-ends.ts'
import type { Sharing } from '../limits/tenant-shares.ts'

interface LastingOptions {
  ends: CredentialEnds
  credential: Credential
  sharing: Sharing
  gone: () => AbortSignal
}

/** The ways in which a call lasts longer than its work. It ends with its credential. */
export function openLasting(options: LastingOptions): Pick<RequestContext, 'wait' | 'stream'> {
  const { ends, credential, sharing } = options
  return {
    async wait(work) {
      using watch = ends.watch(credential.id)
      const resume = sharing.rest()
      try {
        const found = await work(AbortSignal.any([options.gone(), watch.signal]))
        return watch.signal.aborted ? refuse('unauthenticated') : found
      } finally {
        resume()
      }
    },

    stream() {
      const gone = options.gone()
      const watch = ends.watch(credential.id)
      sharing.rest()
      const end = () => watch[Symbol.dispose]()
      if (gone.aborted) end()
      else gone.addEventListener('abort', end, { once: true })
      return AbortSignal.any([gone, watch.signal])
    },
  }
}
