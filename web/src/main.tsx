import "uplot/dist/uPlot.min.css";
import "./design.css";
import "./layout.css";
import { render } from "preact";
import { follow } from "./data/live";
import { askSession } from "./data/session";
import { Dashboard } from "./pages/dashboard";
import { listenToKeys } from "./parts/keys";

// Nothing waits for the answer to something else: the session, the events and what the page shows
// are asked for at the same time.
askSession();
follow();
listenToKeys();
render(<Dashboard />, document.getElementById("app")!);
