import { startPage } from './start-page.js'

startPage()
