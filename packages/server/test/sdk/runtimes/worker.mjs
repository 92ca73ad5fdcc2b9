// In workerd: what to try is the body of a request, and what came of it the answer.
import { tryClient } from './program.mjs'

export default {
  async fetch(request) {
    try {
      return Response.json(await tryClient(await request.json()))
    } catch (error) {
      return new Response(error.stack, { status: 500 })
    }
  },
}
