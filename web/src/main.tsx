import "uplot/dist/uPlot.min.css";
import "./design.css";
import "./layout.css";
import { render } from "preact";
import { Dashboard } from "./pages/dashboard";

render(<Dashboard />, document.getElementById("app")!);
